"""Log a finished run to MLflow."""

import time
from itertools import islice
from pathlib import Path

from theodolite._storage.optional import require
from theodolite.bridges._logged import logged

AT_ONCE = 500


def log_run(
    folder: Path | str,
    *,
    tracking: str | None = None,
    experiment: str = "theodolite",
    dossier: Path | str | None = None,
) -> str:
    """Log a run folder as a run of MLflow, and say which.

    Scores become metrics, with the ends of their intervals and the best null beside them;
    verdicts and the bottom line become tags; the report and ``scores.json`` become artifacts.
    Undefined numbers are left out and named in the tag ``theodolite.undefined``; the tag
    ``theodolite.partial`` says how many pieces of the evidence failed, if some did. The folder is
    verified first.

    Args:
        folder: A finished run folder.
        tracking: Where MLflow keeps its runs; else what MLflow is set to.
        experiment: The experiment to log to; it is made if there is none.
        dossier: A signed dossier of the run: its claim and who signed become tags.
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
        while batch := list(islice(metrics, AT_ONCE)):
            client.log_batch(run, metrics=batch)
        client.log_batch(
            run, tags=[entities.RunTag(name, word) for name, word in log.words.items()]
        )
        for path in log.files:
            client.log_artifact(run, str(path))
        status = "FINISHED"
    finally:  # a run that broke off is not left as if it went on
        client.set_terminated(run, status)
    return str(run)
