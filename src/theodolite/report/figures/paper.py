"""Figures for a paper, with matplotlib: the spread of scores over concepts and classes."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from theodolite._storage.optional import require
from theodolite._verdicts.scores_file import read_scores
from theodolite.report.contents import ANNOTATED
from theodolite.report.figures.scales import Histogram, round_scale
from theodolite.report.words import full_title, option_text
from theodolite.results import Score


def write_figures(folder: Path, out: Path) -> Iterator[Path]:
    """One PDF per score that has a value per concept or class."""
    require("matplotlib", "--figures", "report").use("agg")
    from matplotlib import pyplot  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    scores, _ = read_scores(folder / "scores.json")
    for score in scores:
        if score.detail is None:
            continue
        form = score.options.get("form", "")
        figure, axes = pyplot.subplots(figsize=(3.2, 1.9), layout="constrained")
        ends = round_scale(score.detail.values, score.bounds) if _unlimited(score) else None
        bounds = score.bounds if ends is None else (ends.low, ends.high)
        bins = Histogram.of(score.detail.values, bounds)
        axes.hist(bins.edges[:-1], bins.edges, weights=bins.counts, color="#6f93c4")
        cosine = score.metric == ANNOTATED
        label = f"cosine, {option_text('form', form)}" if cosine else full_title(score)
        axes.set(xlabel=label, ylabel=score.detail.over, xlim=bounds)
        axes.spines[["top", "right"]].set_visible(False)
        name = "_".join(
            str(part) for part in (score.metric, score.detail.over, *_telling_options(score))
        )
        path = out / f"{name}.pdf"
        figure.savefig(path, metadata={"CreationDate": None})
        pyplot.close(figure)
        yield path


def _unlimited(score: Score) -> bool:
    return not np.isfinite(score.bounds).all()


def _telling_options(score: Score) -> list[object]:
    """The options that tell this figure from the metric's others."""
    telling = ("form", "denominator", "by", "normalizer")
    return [score.options[name] for name in telling if name in score.options]
