"""Rerun the audit that the expected figures of a data set come from."""

import tempfile
from pathlib import Path

from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite._storage.cache_folder import get_default_cache
from theodolite.datasets.card import ExpectedFigures
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress, silent


def rerun_figures(
    name: str, expected: ExpectedFigures, folder: Path, progress: Progress = silent
) -> list[float]:
    """Return the value of each expected figure on a folder of the data set."""
    dataset = {"name": name, "root": folder.name}
    spec = RunSpec.model_validate({"name": name, "dataset": dataset, **expected.spec})
    with tempfile.TemporaryDirectory(prefix="theodolite-") as out:
        answers = run(spec, RunPaths(folder.parent, Path(out), get_default_cache()), progress)
    values = []
    for figure in expected.figures:
        matching = [
            score.value
            for score in answers.scores
            if score.metric == figure.metric and figure.options.items() <= score.options.items()
        ]
        if len(matching) != 1:
            got = f"{len(matching)} scores with {figure.options}"
            raise EvidenceError(f"expected figure {figure.metric!r}", got, "one")
        values.append(matching[0])
    return values
