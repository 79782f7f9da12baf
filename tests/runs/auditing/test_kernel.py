"""A small notebook, run by a real Jupyter kernel: what its cells show."""

from typing import Any

import pytest

from theodolite.errors import EvidenceError
from theodolite.metrics.catalogue import find_metric

CELLS = (
    "import numpy as np, theodolite\n"
    "random = np.random.default_rng(0)\n"
    "truth = random.random((30, 3)) < 0.5\n"
    "values = np.clip(truth + 0.3 * random.standard_normal((30, 3)), 0, 1)\n"
    "result = theodolite.audit(\n"
    "    values=values, truth=truth, labels=truth[:, 0].astype(int), resamples=20)",
    "result",
    "result.plot()",
    'result["{name}"]',
    "result.to_frame()",
    'result.to_frame("detail")',
    "result.verdicts",
    "print(result)",
)


def paper_name() -> str:
    """The paper's name, where the catalogue knows those."""
    try:
        find_metric("CTL")
    except EvidenceError:
        return "concept_task_leakage"
    return "CTL"


@pytest.fixture(scope="module")
def outputs() -> list[list[Any]]:
    """What each cell shows."""
    nbformat, nbclient = (pytest.importorskip(name) for name in ("nbformat", "nbclient"))
    for name in ("ipykernel", "pandas", "matplotlib"):
        pytest.importorskip(name)
    cells = [nbformat.v4.new_code_cell(cell.replace("{name}", paper_name())) for cell in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return [cell.outputs for cell in notebook.cells]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_notebook_in_a_real_kernel(outputs: list[list[Any]]) -> None:
    first, audit, plot, score, frame, detail, verdicts, printed = outputs
    assert first == []
    ((head,), (figure,)) = audit, plot
    assert head.data["text/html"].startswith('<div class="theodolite">')
    assert head.data["text/plain"].startswith("AuditResult: ")
    assert "image/png" in figure.data, "drawn, and only once"
    assert 'class="theodolite"' in score[0].data["text/html"]
    assert score[0].data["text/plain"].startswith("Score(concept_task_leakage ")
    assert "<table" in frame[0].data["text/html"] and "<table" in detail[0].data["text/html"]
    assert verdicts[0].data["text/plain"].count("Verdict(") == 5
    assert printed[0].text.startswith("Concept scores: 30 samples")
