"""What MLflow has of a run that was logged to it, held against the run folder."""

from pathlib import Path

from theodolite.bridges._logged import logged
from theodolite.bridges.mlflow import log_run


def check_sink(run: Path, store: Path) -> None:
    """Log a run twice into a store of files, and compare."""
    from mlflow.tracking import MlflowClient  # noqa: PLC0415

    place, about = store.resolve().as_uri(), logged(run)
    names = [log_run(run, tracking=place, experiment="birds") for _ in range(2)]
    assert len(set(names)) == 2
    client = MlflowClient(tracking_uri=place)
    known = client.get_run(names[0])
    assert known.data.metrics == about.numbers
    assert "concept_existence/top-5.low" in known.data.metrics
    assert {**known.data.tags, **about.words} == known.data.tags
    assert known.info.status == "FINISHED" and known.info.run_name == about.name
    assert {file.path for file in client.list_artifacts(names[0])} == {"report.html", "scores.json"}
    experiment = client.get_experiment_by_name("birds")
    assert {client.get_run(name).info.experiment_id for name in names} == {experiment.experiment_id}
