"""Figures for a paper, with matplotlib: the spread of scores over concepts and classes."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.execution.record import read_scores
from theodolite.report.words import option_text, title


def write_figures(folder: Path, out: Path) -> Iterator[Path]:
    """One PDF per score that has a value per concept or class."""
    try:
        import matplotlib  # noqa: PLC0415
    except ImportError as error:
        raise EvidenceError(
            "--figures", "no matplotlib", "it", "Install it: pip install 'theodolite[report]'."
        ) from error
    matplotlib.use("agg")
    from matplotlib import pyplot  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    scores, _ = read_scores(folder / "scores.json")
    for score in scores:
        if score.detail is None:
            continue
        form = score.options.get("form", "")
        figure, axes = pyplot.subplots(figsize=(3.2, 1.9), layout="constrained")
        bins = np.linspace(*score.bounds, 21)
        axes.hist(score.detail.values[~np.isnan(score.detail.values)], bins, color="#6f93c4")
        label = f"cosine, {option_text('form', form)}" if form else title(score)
        axes.set(xlabel=label, ylabel=score.detail.over, xlim=score.bounds)
        axes.spines[["top", "right"]].set_visible(False)
        path = out / f"{score.metric}_{score.detail.over}_{form}.pdf"
        figure.savefig(path, metadata={"CreationDate": None})
        pyplot.close(figure)
        yield path
