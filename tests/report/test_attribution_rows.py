"""A report about a table: four of its rows, with the features named first."""

from dataclasses import replace
from pathlib import Path

import pytest

import theodolite
from theodolite._planted.attributions import planted_attributions
from theodolite.evidence.axes import Features


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    evidence = planted_attributions(60)
    names = ("which", *(f"<b>feature {i}" for i in range(12)))
    categories = (tuple(f"window {i}" for i in range(12)), *((),) * 12)
    named = replace(evidence, features=Features(names, categories=categories))
    folder = tmp_path_factory.mktemp("rows") / "run"
    report = theodolite.audit(named, metrics=["attribution_fit"], resamples=50).save(folder)
    return Path(report).read_text(encoding="utf-8")


def test_four_rows_with_the_features_named_first(page: str) -> None:
    rows = page.split('class="examples explained-rows"')[1].split("</section>")[0]
    assert rows.count('<table class="features">') == 4
    assert rows.count('<th scope="row">') == 4 * 5
    assert "&lt;b&gt;feature" in rows and "<b>feature" not in page
    assert rows.count('class="for"') + rows.count('class="against"') == 4 * 5
