"""A report about a table: rows of high and low fit, attributions beside measured effects."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

import theodolite
from theodolite._planted.attributions import planted_attributions
from theodolite.evidence.axes import Features
from theodolite.metrics.tables.attribution_fit import SubsetAnswers


def show_rows(evidence: theodolite.AttributionEvidence, folder: Path) -> list[str]:
    """The cards of rows in the report of an audit."""
    result = theodolite.audit(evidence, resamples=20)
    page = Path(result.save(folder / "run")).read_text(encoding="utf-8")
    above = page.partition('<section id="appendix">')[0]
    return above.split('class="examples explained-rows"')[1].split('<li class="example">')[1:]


def test_rows_of_highest_and_lowest_fit_are_shown(tmp_path: Path) -> None:
    evidence = planted_attributions(60)
    names = ("which", *(f"<b>feature {i}" for i in range(12)))
    categories = (tuple(f"window {i}" for i in range(12)), *((),) * 12)
    named = replace(evidence, features=Features(names, categories=categories))
    cards = show_rows(named, tmp_path)
    fits = SubsetAnswers(named).fit(np.asarray(named.values), "mixed", "given")
    shown = [fits[int(re.findall(r"<b>Row (\d+)</b> fit", card)[0])] for card in cards]
    order = np.sort(fits[~np.isnan(fits)])
    assert shown == [*order[:-3:-1], *order[1::-1]]
    for card, fit in zip(cards, shown, strict=True):
        assert f"fit {fit:.2f}".replace("-", "−") in card
        assert card.count('<th scope="row">') == 8 and card.count("<rect") == 2 * 8
    assert "&lt;b&gt;feature" in "".join(cards) and "<b>feature" not in "".join(cards)


def test_measured_effects_are_those_of_the_model(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(30, 5))
    weights = np.array([3.0, -1.0, 0.5, 0.0, 0.0])
    evidence = theodolite.AttributionEvidence(
        values=rows * weights, inputs=rows, background=np.zeros((1, 5)),
        respond=lambda x: x @ weights, groups=["a", "a", "b", "c", "d"],
    )  # fmt: skip
    for card in show_rows(evidence, tmp_path):
        numbers = re.findall(r"<span>([^<]*)</span>", card)
        assert numbers[::2] == numbers[1::2], "linear: exactly what removal changes"
        assert ">2 columns</td>" in card and 'width="50.0"' in card


def test_without_answers_of_the_model_rows_are_drawn(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(30, 3))
    evidence = theodolite.AttributionEvidence(values=values, base=0.0, output=values.sum(axis=1))
    cards = show_rows(evidence, tmp_path)
    assert len(cards) == 4 and cards[0].count("<rect") == 3 and " fit " not in cards[0]
