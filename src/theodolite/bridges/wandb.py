"""Log a finished run to Weights & Biases."""

import re
from pathlib import Path
from typing import Literal

from theodolite._storage.optional import require
from theodolite.bridges._logged import logged


def log_run(
    folder: Path | str,
    *,
    project: str = "theodolite",
    mode: Literal["offline", "online"] = "offline",
    directory: Path | str | None = None,
    dossier: Path | str | None = None,
) -> Path:
    """Log a run folder as a run of W&B, and say where that was written.

    Scores become the summary, with the ends of their intervals and the best null beside them;
    verdicts and the bottom line become the configuration; the report and ``scores.json`` become an
    artifact. Undefined numbers are left out and named there, as are pieces of the evidence
    that failed (``theodolite.partial``). The folder is verified first.

    Args:
        folder: A finished run folder.
        project: The project to log to.
        mode: ``offline`` sends nothing: ``wandb sync`` does, when you want it.
        directory: Where W&B writes; else where W&B is set to.
        dossier: A signed dossier of the run: its claim and who signed go to the configuration.
    """
    wandb = require("wandb", "wandb", "track")
    log = logged(folder, dossier)
    settings = wandb.Settings(
        silent=True, console="off", disable_git=True, disable_code=True, save_code=False,
        x_disable_stats=True, x_disable_machine_info=True,
    )  # fmt: skip
    run = wandb.init(
        project=project, name=log.name, mode=mode, config=dict(log.words),
        dir=None if directory is None else str(directory), settings=settings, reinit="create_new",
    )  # fmt: skip
    with run:  # ends it, as failed if something is raised
        run.summary.update(dict(log.numbers))
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", log.words["theodolite.run"])
        artifact = wandb.Artifact(name or "run", type="theodolite-run")
        for path in log.files:
            artifact.add_file(str(path), name=path.name)
        run.log_artifact(artifact)
        return Path(run.dir).parent
