"""Instruments: pages, server and database agree on which answers fit."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import theodolite_study.store
from theodolite_study.local_postgres import LocalPostgres, create_database
from theodolite_study.model.blocks import BaseBlock, ChoiceBlock, InvalidAnswerError
from theodolite_study.model.instrument import Instrument, check_answers, iterate_shown_blocks
from theodolite_study.model.rules import Comparison, NotRule, equals_as_json, holds
from theodolite_study.serve.block_forms import UnfitForm, parse_answers

FIT = Path(theodolite_study.store.__file__).with_name("fit.sql")
ASK = "select answers_fit(i -> 'after', e, a) from unnest(%s::jsonb[], %s::jsonb[], %s::jsonb[]) as t(i, e, a)"
KEYS = ["a", "b", "c"]
FITTING: list[Any] = [
    1, 3, 2.5, 0.35, "a", "tie", "x y", ["a"], ["a", "c"], {"chosen": "other", "other": "x"},
    {"chosen": ["a", "other"], "other": "x"}, ["b", "a"], ["c", "a", "b"], [], [{"x": 1, "y": 2}],
    [{"x": 0, "y": 0.5, "width": 1, "height": 3}, {"x": 4, "y": 0, "width": 2.5, "height": 1}],
]  # fmt: skip
"""Answers that fit one kind of block or another."""
BEFORE = [{"blocks": [{"name": "words", "kind": "text"}]}]


@pytest.fixture(scope="module")
def connection(cluster: LocalPostgres) -> Iterator[psycopg.Connection]:
    create_database(cluster, "fit")
    with psycopg.connect(cluster.database("fit"), autocommit=True) as opened:
        opened.execute(FIT.read_text())
        yield opened


def reasons(connection: psycopg.Connection, cases: list[tuple[Any, Any, Any]]) -> list[str | None]:
    columns = [[json.dumps(case[i]) for case in cases] for i in range(3)]
    return [row[0] for row in connection.execute(ASK, columns)]


numbers = st.sampled_from([-1, 0, 0.1, 0.25, 0.3, 1, 2, 2.5, 3, 3.0, 5, 6, 11, 100, 1e7, True])
texts = st.sampled_from(
    ["", " ", "a", "b", "c", "other", "tie", "x y", " x", "ünï", "x" * 501, "\t"]
)
shapes = st.sampled_from(
    [
        {"x": 1, "y": 2}, {"x": 0, "y": 0.5, "width": 1, "height": 3}, {"x": -1, "y": 0},
        {"x": 1, "y": 2, "width": 0, "height": 1}, {"x": 1}, {}, {"x": "1", "y": 2}, 7,
    ]
)  # fmt: skip
values = st.one_of(
    numbers, texts, st.none(), st.lists(texts, max_size=4), st.lists(shapes, max_size=3),
    st.builds(lambda c, o: {"chosen": c, "other": o}, st.one_of(texts, st.lists(texts, max_size=3)), texts),
    st.permutations(KEYS), st.permutations(KEYS[:2]),
)  # fmt: skip
kinds = st.one_of(
    st.builds(lambda p: {"kind": "likert", "points": p}, st.integers(2, 11)),
    st.builds(
        lambda n, s, least, o: {"kind": "choice", "options": KEYS[:n], "several": s, "least": least, "other": o},
        st.integers(2, 3), st.booleans(), st.integers(0, 2), st.booleans(),
    ),
    st.builds(lambda a, b: {"kind": "text", "least": a, "most": a + b}, st.integers(1, 3), st.integers(0, 500)),
    st.builds(lambda m: {"kind": "comment", "most": m, "required": False}, st.integers(1, 3)),
    st.builds(
        lambda k, low, s: {"kind": k, "least": low, "most": low + 3, "step": s},
        st.sampled_from(["number", "slider"]), st.sampled_from([-1, 0, 0.1]), st.sampled_from([0.1, 0.25, 1]),
    ),
    st.builds(lambda t: {"kind": "comparison", "of": KEYS[:2], "tie": t}, st.booleans()),
    st.builds(lambda n: {"kind": "ranking", "items": KEYS[:n]}, st.integers(2, 3)),
    st.builds(
        lambda s, least, n: {"kind": "regions", "shapes": s, "least": least, "nothing": n, "most": 2},
        st.sampled_from([["box"], ["point"], ["box", "point"]]), st.integers(0, 2), st.booleans(),
    ),
    st.just({"kind": "note", "required": False}),
)  # fmt: skip


@st.composite
def rules(draw: st.DrawFn, names: list[str], depth: int = 2) -> dict[str, Any]:
    form = draw(st.sampled_from(["compare", "all", "any", "not"] if depth else ["compare"]))
    if form == "not":
        return {"not": draw(rules(names, depth - 1))}
    if form != "compare":
        return {form: draw(st.lists(rules(names, depth - 1), min_size=1, max_size=2))}
    op = draw(st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge", "in", "answered"]))
    plain = st.sampled_from([1, 3, 3.0, 0.25, "a", "tie", True])
    value = draw(st.lists(plain, min_size=1, max_size=3) if op == "in" else plain)
    return {"block": draw(st.sampled_from(names)), "op": op} | (
        {} if op == "answered" else {"value": value}
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Instrument, dict[str, Any], dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 4))):
        block = draw(kinds) | {"name": f"b{number}"}
        if block["kind"] not in ("note", "comment"):
            block["required"] = draw(st.booleans())
        if draw(st.booleans()):
            block["show_if"] = draw(rules(["old", *(b["name"] for b in blocks)]))
        blocks.append(block)
    blocks.append({"name": "last", "kind": "likert", "required": False})
    about = [{"blocks": [{"name": "old", "kind": "number"}]}]
    whole = Instrument.model_validate(
        {"about": about, "before": BEFORE, "after": [{"blocks": blocks}]}
    )
    chosen = [b["name"] for b in blocks if draw(st.booleans())]
    answers = {
        name: draw(values) for name in [*chosen, *(["odd"] if draw(st.integers(0, 9)) == 0 else [])]
    }
    earlier = {"old": draw(st.sampled_from([1, 3, 50]))} if draw(st.booleans()) else {}
    return whole, earlier, answers


def accepted(
    whole: Instrument, earlier: dict[str, Any], answers: dict[str, Any]
) -> dict[str, Any] | None:
    try:
        return check_answers(whole.blocks("after"), answers, earlier)
    except InvalidAnswerError:
        return None


@settings(max_examples=100)
@given(st.lists(cases(), min_size=20, max_size=20))
def test_the_database_takes_what_the_server_stores(
    connection: psycopg.Connection, batch: list[tuple[Instrument, dict[str, Any], dict[str, Any]]]
) -> None:
    normal = [accepted(*case) for case in batch]
    asked = [(whole.stored(), earlier, answers) for whole, earlier, answers in batch]
    asked += [
        (w.stored(), e, n) for (w, e, _), n in zip(batch, normal, strict=True) if n is not None
    ]
    said = reasons(connection, asked)
    for (_, _, answers), mine, theirs in zip(batch, normal, said, strict=False):
        is_normal = (
            mine is not None
            and mine.keys() == answers.keys()
            and all(
                equals_as_json(mine[name], answers[name]) or mine[name] == answers[name]
                for name in mine
            )
        )
        assert (theirs is None) == is_normal, (answers, mine, theirs)
    assert said[len(batch) :] == [None] * (len(said) - len(batch))


def fields_of(name: str, value: Any, *, scripts: bool) -> dict[str, list[str]]:
    """What a page sends for an answer, drawn by its scripts or typed without them."""
    if isinstance(value, dict):
        return fields_of(name, value["chosen"], scripts=scripts) | {
            f"{name}_other": [value["other"]]
        }
    if not isinstance(value, list):
        return {name: [str(value)]}
    if any(isinstance(part, dict) for part in value) or (not value and scripts):
        if scripts:
            return {name: [json.dumps(value)], f"{name}_nothing": ["yes"]}
        return {
            f"{name}_{part}_{n}": [str(number)]
            for n, shape in enumerate(value) if isinstance(shape, dict)
            for part, number in shape.items()
        }  # fmt: skip
    places = {f"{name}.{item}": [str(n + 1)] for n, item in enumerate(value)}
    return {name: list(map(str, value)), f"{name}_nothing": ["yes"]} | places


def from_form(
    blocks: Sequence[BaseBlock], earlier: dict[str, Any], answers: dict[str, Any], *, scripts: bool
) -> dict[str, Any] | None:
    """What the server stores of a page's form; nothing if it is refused."""
    fields: dict[str, list[str]] = {}
    for name, value in answers.items():
        fields |= {} if value is None else fields_of(name, value, scripts=scripts)
    regions = {block.name for block in blocks if getattr(block, "kind", "") == "regions"}
    if not scripts:
        fields = {name: given for name, given in fields.items() if name not in regions}
    try:
        return parse_answers(blocks, fields, earlier)
    except UnfitForm:
        return None


@settings(max_examples=40)
@given(st.lists(cases(), min_size=20, max_size=20), st.booleans())
def test_forms_of_pages_bring_what_fits_and_nothing_else(
    connection: psycopg.Connection,
    batch: list[tuple[Instrument, dict[str, Any], dict[str, Any]]],
    scripts: bool,
) -> None:
    stored = []
    for whole, earlier, answers in batch:
        sent = from_form(whole.blocks("after"), earlier, answers, scripts=scripts)
        if sent is not None:
            stored.append((whole.stored(), earlier, sent))
        alone = whole.blocks("after")[0].model_copy(update={"show_if": None})
        for value in FITTING:
            if value == [] and isinstance(alone, ChoiceBlock):
                continue  # a page cannot tell nothing chosen from nothing answered
            with suppress(InvalidAnswerError):
                normal = check_answers([alone], {alone.name: value}, {})
                assert from_form([alone], {}, normal, scripts=scripts) == normal
    assert reasons(connection, stored) == [None] * len(stored)


def test_both_sides_were_seen() -> None:
    """The strategy makes answers that fit as well as such that do not."""
    whole = Instrument.model_validate(
        {"before": BEFORE, "after": [{"blocks": [{"name": "q", "kind": "likert"}]}]}
    )
    assert accepted(whole, {}, {"q": 3.0}) == {"q": 3}
    assert accepted(whole, {}, {"q": 6}) is None and accepted(whole, {}, {}) is None


def test_a_rule_by_hand() -> None:
    rule = Comparison(block="better", op="ne", value="tie")
    assert holds(rule, {"better": "shown"}) and not holds(rule, {"better": "tie"})
    assert not holds(rule, {}), "what is not answered fits nothing"
    assert holds(NotRule.model_validate({"not": rule.model_dump()}), {})
    why = {"name": "why", "kind": "text", "show_if": rule.model_dump()}
    better = {"name": "better", "kind": "comparison", "of": ["shown", "rival"], "tie": True}
    whole = Instrument.model_validate({"before": BEFORE, "after": [{"blocks": [better, why]}]})
    assert accepted(whole, {}, {"better": "tie"}) == {"better": "tie"}
    assert accepted(whole, {}, {"better": "tie", "why": "x"}) is None
    assert accepted(whole, {}, {"better": "shown"}) is None
    assert accepted(whole, {}, {"better": "shown", "why": " so "}) == {
        "better": "shown",
        "why": "so",
    }
    blocks = whole.blocks("after")
    assert [block.name for block in iterate_shown_blocks(blocks, {"better": "tie"}, {})] == [
        "better"
    ]


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        ([{"name": "a", "kind": "likert"}] * 2, "twice"),
        ([{"name": "a", "kind": "note", "required": False}], "something must be asked"),
        (
            [{"name": "a", "kind": "likert", "show_if": {"block": "b", "op": "answered"}}],
            "not asked before",
        ),
        ([{"name": "words", "kind": "likert"}], "twice"),
        ([{"name": "a", "kind": "dance"}], "dance"),
        ([{"name": "a", "kind": "choice", "options": ["x", "x"]}], "different"),
        ([{"name": "a", "kind": "likert", "extra": 1}], "extra"),
    ],
)
def test_instruments_that_cannot_be_held_are_refused(blocks: list[Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Instrument.model_validate({"before": BEFORE, "after": [{"blocks": blocks}]})


def test_on_a_shuffled_page_no_block_depends_on_another() -> None:
    second = {"name": "b", "kind": "likert", "show_if": {"block": "a", "op": "answered"}}
    page = {"blocks": [{"name": "a", "kind": "likert"}, second], "shuffle": True}
    with pytest.raises(ValidationError, match="not asked before"):
        Instrument.model_validate({"before": BEFORE, "after": [page]})
