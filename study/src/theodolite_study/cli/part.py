"""Run one part of a study in this process. The supervisor of `study serve` starts it."""

import os
import sys
from pathlib import Path

from theodolite.errors import EvidenceError
from theodolite_study.supervisor import SOCKET_VARIABLE, WORKERS_VARIABLE


def run_part(name: str) -> None:
    """Run a part until it is told to stop; settings come from the environment."""
    from theodolite_study.serve.settings import read_settings
    from theodolite_study.serve.workers import end_with_parent

    end_with_parent()
    settings = read_settings()
    handed = int(os.environ.get(SOCKET_VARIABLE, "-1"))
    try:
        if name == "pages":
            from theodolite_study.serve.run import serve

            serve(settings, workers=int(os.environ[WORKERS_VARIABLE]), handed=handed)
        elif name == "desk":
            from theodolite_study.desk.run import serve_desk

            serve_desk(settings, handed=handed)
        else:
            run_all_jobs(settings.database_url, settings.folder)
    except EvidenceError as error:
        sys.exit(f"theodolite: {error}")


def run_all_jobs(url: str, folder: Path) -> None:
    """Run payments, exports and counts for the studies of a folder, until told to stop."""
    from theodolite_study.keys import Keys
    from theodolite_study.money.background_job import run_jobs
    from theodolite_study.operate.background_tasks import ExportTask, MetricsTask
    from theodolite_study.operate.logs import log_as_lines
    from theodolite_study.operate.revision import require_same_revision

    require_same_revision(url)
    log_as_lines()
    run_jobs(url, Keys.read(folder), [MetricsTask(), ExportTask(url, folder)])
