"""Log a finished run to MLflow."""

import time
from itertools import islice
from pathlib import Path

from theodolite._storage.optional import require
from theodolite.bridges._logged import logged

MAX_BATCH = 500
"""Number of metrics per request."""


def log_run(
    folder: Path | str,
    *,
    tracking: str | None = None,
    experiment: str = "theodolite",
    dossier: Path | str | None = None,
) -> str:
    """Log a run folder as a run of MLflow, and return the id of that run.

    Scores become metrics, each with the ends of its interval and its strongest baseline. Verdicts
    and the summary become tags. The report and ``scores.json`` become artifacts. Undefined numbers
    are left out and named in the tag ``theodolite.undefined``. The tag ``theodolite.partial`` has
    the number of shards of the evidence that failed, if any. The folder is verified first.

    Args:
        folder: A finished run folder.
        tracking: Tracking URI. Default: that of MLflow's settings.
        experiment: The experiment to log to; it is created if it does not exist.
        dossier: A signed dossier of the run; its claim and its signers become tags.
    """
    entities = require("mlflow.entities", "mlflow", "track")
    tracking_client = require("mlflow.tracking", "mlflow", "track").MlflowClient
    log = logged(folder, dossier)
    client = tracking_client(tracking_uri=tracking)
    known = client.get_experiment_by_name(experiment)
    place = client.create_experiment(experiment) if known is None else known.experiment_id
    run = client.create_run(place, run_name=log.name).info.run_id
    status = "FAILED"
    try:
        now = int(time.time() * 1000)
        metrics = iter(
            [entities.Metric(name, value, now, 0) for name, value in log.numbers.items()]
        )
        while batch := list(islice(metrics, MAX_BATCH)):
            client.log_batch(run, metrics=batch)
        client.log_batch(
            run, tags=[entities.RunTag(name, word) for name, word in log.words.items()]
        )
        for path in log.files:
            client.log_artifact(run, str(path))
        status = "FINISHED"
    finally:  # otherwise a failed run would stay RUNNING
        client.set_terminated(run, status)
    return str(run)
