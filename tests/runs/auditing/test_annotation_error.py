"""The rate of wrong annotations: declared with the evidence, or on the command line."""

from pathlib import Path

import numpy as np
import pytest

import theodolite
from support.runs.command_line import theodolite as command
from theodolite._runs.auditing.reading import read_source
from theodolite._runs.auditing.sources import with_annotation_error
from theodolite.errors import EvidenceError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Values that tell the label a little."""
    place = tmp_path_factory.mktemp("annotated")
    random = np.random.default_rng(0)
    truth, labels = random.random((400, 3)) < 0.5, random.integers(0, 2, 400)
    values = truth + 0.3 * random.normal(size=truth.shape) + 0.2 * labels[:, None]
    np.savez(place / "concepts.npz", values=values, truth=truth, labels=labels)
    np.savez(place / "attributions.npz", values=values, inputs=values, output=values[:, 0])
    return place


def test_annotation_error_one_rate_for_all_concepts(folder: Path) -> None:
    source = with_annotation_error(read_source(folder / "concepts.npz"), 0.1)
    (bundle,) = source.first
    assert isinstance(bundle, theodolite.ConceptEvidence)
    np.testing.assert_array_equal(bundle.annotation_error, [0.1, 0.1, 0.1])


def test_annotation_error_refused_without_concepts_or_outside_0_to_half(folder: Path) -> None:
    with pytest.raises(EvidenceError, match="no concept evidence"):
        with_annotation_error(read_source(folder / "attributions.npz"), 0.1)
    with pytest.raises(EvidenceError, match="a model"):
        with_annotation_error(None, 0.1)
    with pytest.raises(EvidenceError, match=r"less than 0\.5"):
        with_annotation_error(read_source(folder / "concepts.npz"), 0.5)


def test_annotation_error_on_the_command_line_is_in_the_scores(folder: Path) -> None:
    result = command(
        "audit",
        folder / "concepts.npz",
        "--annotation-error",
        "0.02",
        "--resamples",
        "20",
        "--json",
    )
    assert result.returncode == 0, result.stderr
    assert '"error": 0.02' in result.stdout
    assert '"declared": true' in result.stdout
