"""A report about a table: four of its rows, and the sentence of an answer that is partly."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import theodolite
from theodolite._planted.attributions import planted_attributions
from theodolite.evidence.axes import Features
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.tables.feature_removal import IN_GENERAL


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    evidence = planted_attributions(60)
    names = ("which", *(f"<b>feature {i}" for i in range(12)))
    categories = (tuple(f"window {i}" for i in range(12)), *((),) * 12)
    named = replace(evidence, features=Features(names, categories=categories))
    folder = tmp_path_factory.mktemp("rows") / "run"
    report = theodolite.audit(named, metrics=["feature_necessity"], resamples=50).save(folder)
    return Path(report).read_text(encoding="utf-8")


def test_four_rows_with_the_features_named_first(page: str) -> None:
    rows = page.split('class="examples explained-rows"')[1].split("</section>")[0]
    assert rows.count('<table class="features">') == 4
    assert rows.count('<th scope="row">') == 4 * 5
    assert "&lt;b&gt;feature" in rows and "<b>feature" not in page
    assert rows.count('class="for"') + rows.count('class="against"') == 4 * 5


def test_what_is_said_in_general(tmp_path: Path) -> None:
    """Of a linear model on like scales: better than random features, not than global feature ranking."""
    random = np.random.default_rng(3)
    weights = np.array([8.0, 4, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01])
    inputs = random.choice([-1.0, 1.0], (120, 10))
    evidence = AttributionEvidence(
        values=inputs * weights, inputs=inputs, background=random.choice([-1.0, 1.0], (20, 10)),
        respond=lambda rows: rows @ weights,
    )  # fmt: skip
    result = theodolite.audit(evidence, metrics=["feature_necessity"], resamples=50)
    text = Path(result.save(tmp_path / "run")).read_text(encoding="utf-8")
    answers = text.split('id="answers"')[1].split("</section>")[0]
    assert IN_GENERAL in " ".join(answers.split()).replace("\xa0", " ")
    assert "knowing nothing (one order" not in answers.lower()
