"""Edits of instruments, forms of blocks, what changed, and files of texts: pure functions."""

from typing import Any

import pytest

from theodolite_study.designer import instrument_edits, text_files
from theodolite_study.designer.block_form import (
    get_form_fields,
    parse_block,
    parse_rule,
    to_rule_rows,
)
from theodolite_study.designer.version_changes import VersionContent, describe_changes
from theodolite_study.locale.default_texts import load_default_texts
from theodolite_study.model.instrument import STAGES, Instrument
from theodolite_study.model.pasta import build_pasta
from theodolite_study.model.required_texts import iterate_text_keys
from theodolite_study.refusals import Invalid, NotHere


def names(instrument: Instrument, stage: Any) -> list[str]:
    return [block.name for block in instrument.blocks(stage)]


def sent(block: Any) -> dict[str, list[str]]:
    """What a browser sends for the form of a block that nobody changed."""
    fields: dict[str, list[str]] = {}
    for field in get_form_fields(block):
        if field.kind == "checkbox":
            fields |= {field.name: ["yes"]} if field.value else {}
        elif field.kind == "several":
            fields[field.name] = list(field.value)
        else:
            fields[field.name] = ["" if field.value is None else str(field.value)]
    rows = to_rule_rows(block.show_if)
    if rows is not None:
        fields["rule_how"] = [rows.how]
        for number, row in enumerate(rows.rows):
            for part, value in zip(("block", "op", "value"), row, strict=True):
                fields[f"rule_{part}_{number}"] = [value]
    return fields


def test_every_kind_of_block_goes_through_its_form_unchanged() -> None:
    instrument = build_pasta()
    for kind in instrument_edits.get_block_kinds():
        instrument, _ = instrument_edits.add_block(instrument, "end", kind)
    for stage in STAGES:
        for block in instrument.blocks(stage):
            assert parse_block(block.kind, sent(block), instrument) == block
    least = {field.name: (field.least, field.most) for field in
             get_form_fields(instrument_edits.get_block(instrument, "q1"))}  # fmt: skip
    assert least["points"] == (2, 11)


def test_blocks_are_added_copied_moved_and_taken_out() -> None:
    one, name = instrument_edits.add_block(build_pasta(), "after", "text")
    assert name == "text" and names(one, "after")[-1] == "text"
    two, copy = instrument_edits.copy_block(one, "q1")
    assert copy == "q1_2" and names(two, "after")[:3] == ["q1", "q1_2", "q2"]
    assert instrument_edits.copy_block(two, "q1")[1] == "q1_3"
    up = instrument_edits.move_block(two, "q1_2", -1)
    assert names(up, "after")[:2] == ["q1_2", "q1"]
    with pytest.raises(Invalid, match="end of its stage"):
        instrument_edits.move_block(up, "q1_2", -1)
    gone = instrument_edits.delete_block(up, "q1_2")
    assert names(gone, "after") == [*names(build_pasta(), "after"), "text"]
    with pytest.raises(NotHere):
        instrument_edits.delete_block(gone, "q1_2")
    only = instrument_edits.delete_block(build_pasta(), "words")
    with pytest.raises(Invalid, match="at least one"):
        instrument_edits.delete_block(only, "regions")
    first, _ = instrument_edits.add_block(build_pasta(), "door", "number")
    assert names(first, "door") == ["number"]
    assert instrument_edits.delete_block(first, "number").door == []
    with pytest.raises(Invalid, match="kind"):
        instrument_edits.add_block(first, "door", "video")


def test_pages_begin_and_join_and_are_shuffled() -> None:
    two = instrument_edits.begin_page(build_pasta(), "gender")
    assert [len(page.blocks) for page in two.about] == [1, 2]
    across = instrument_edits.move_block(two, "gender", -1)
    assert names(across, "about") == ["age_band", "gender", "country"]
    assert [len(page.blocks) for page in across.about] == [2, 1]
    assert instrument_edits.begin_page(two, "gender") == build_pasta()
    assert instrument_edits.shuffle_page(two, "about", 1, shuffle=True).about[1].shuffle
    with pytest.raises(NotHere):
        instrument_edits.shuffle_page(two, "about", 7, shuffle=True)
    with pytest.raises(Invalid, match="one page"):
        instrument_edits.begin_page(build_pasta(), "q2")


RULES: list[dict[str, Any]] = [
    {"block": "age_band", "op": "ne", "value": "65"},
    {"any": [{"block": "age_band", "op": "in", "value": ["65", "55-64"]},
             {"block": "gender", "op": "answered"}]},
    {"all": [{"block": "q1", "op": "ge", "value": 3}, {"block": "gender", "op": "eq", "value": "man"}]},
    {"not": {"any": [{"block": "q1", "op": "eq", "value": 1}, {"block": "q1", "op": "gt", "value": 4}]}},
    {"not": {"block": "q1", "op": "lt", "value": 2}},
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_rules_go_through_their_rows(rule: dict[str, Any]) -> None:
    base = build_pasta()
    block = instrument_edits.get_block(base, "q2").model_copy(update={"show_if": None})
    fields = sent(block)
    changed = parse_block("likert", fields | {"rule_json": [str(rule).replace("'", '"')]}, base)
    assert parse_block("likert", sent(changed), base) == changed
    again = instrument_edits.replace_block(base, "q2", changed)
    assert instrument_edits.get_block(again, "q2") == changed
    with pytest.raises(Invalid, match="not asked before it"):
        instrument_edits.delete_block(again, next(iter(compared(rule))))


def compared(rule: Any) -> list[str]:
    if isinstance(rule, list):
        return [name for part in rule for name in compared(part)]
    if "block" in rule:
        return [rule["block"]]
    return [name for part in rule.values() for name in compared(part)]


def test_a_new_name_is_followed_by_rules_and_texts() -> None:
    base = build_pasta()
    rule = parse_rule({"rule_block_0": ["q1"], "rule_op_0": ["ge"], "rule_value_0": ["4"]}, base)
    base = instrument_edits.replace_block(base, "q2", instrument_edits.get_block(base, "q2").model_validate(
        {"name": "q2", "show_if": {"not": rule}}))  # fmt: skip
    named = instrument_edits.replace_block(
        base, "q1", instrument_edits.get_block(base, "q1").model_copy(update={"name": "own"})
    )
    assert instrument_edits.get_block(named, "q2").model_dump(by_alias=True)["show_if"] == {
        "not": {"block": "own", "op": "ge", "value": 4}}  # fmt: skip
    texts = {("q1.text", "en"): "a", ("q10.text", "en"): "b"}
    assert instrument_edits.rename_texts(texts, "q1", "own") == {
        ("own.text", "en"): "a",
        ("q10.text", "en"): "b",
    }


@pytest.mark.parametrize(("fields", "words"), [
    ({"points": ["12"]}, "points"), ({"points": ["many"]}, "points"), ({"name": ["Q 1"]}, "name"),
    ({"rule_json": ["{"]}, "no JSON"), ({"rule_json": ['{"block": "q9"}']}, "rule"),
    ({"rule_block_0": ["q1"], "rule_op_0": ["like"], "rule_value_0": ["1"]}, "show_if"),
])  # fmt: skip
def test_forms_that_do_not_fit_are_refused(fields: dict[str, list[str]], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        parse_block("likert", {"name": ["q1"], **fields}, build_pasta())


def test_changes_are_said_in_sentences() -> None:
    old = VersionContent(build_pasta(), {"quota": 20, "checks": {"every": 7}}, {("q1.text", "en"): "How?"},
                         {"finished": {"code": "A"}}, {})  # fmt: skip
    assert describe_changes(old, old) == []
    new = instrument_edits.delete_block(
        instrument_edits.add_block(build_pasta(), "after", "comment")[0], "q6"
    )
    new = instrument_edits.move_block(new, "q2", -1)
    q1 = instrument_edits.get_block(new, "q1").model_copy(update={"points": 7})
    new = instrument_edits.shuffle_page(
        instrument_edits.replace_block(new, "q1", q1), "end", 0, shuffle=True
    )
    said = describe_changes(old, VersionContent(
        new, {"quota": 10, "checks": {"every": 7}}, {("q1.text", "de"): "Wie?"},
        {"finished": {"code": "B"}}, {"short": {"weight": 2}},
    ))  # fmt: skip
    for sentence in (
        "Block “q6” was taken out of “after”.", "Block “comment” (comment) is new in “after”.",
        "Block “q1”, points was 5, is 7.", "The order in “after” is now q2, q1, q3, q4, q5.",
        "Pages of “end” that are shuffled: 1.", "Setting quota was 20, is 10.",
        "Outcome finished.code was “A”, is “B”.", "Condition short.weight is new: 2.",
        "Text q1.text (de) is new: “Wie?”.", "Text q1.text (en) is gone; it was “How?”.",
    ):  # fmt: skip
        assert sentence in said
    assert len(said) == 10


KEYS = list(iterate_text_keys(build_pasta()))
TEXTS = {(key, language): body for language in ("en", "de")
         for key, body in load_default_texts(language).items()}  # fmt: skip


def test_missing_texts_come_first_and_are_copied_only_on_demand() -> None:
    texts = {pair: body for pair, body in TEXTS.items() if pair != ("q3.low", "de")}
    rows = text_files.get_text_rows(KEYS, ["en", "de"], texts)
    assert [(row.key, row.missing) for row in rows[:3]] == [
        ("contact", ("en", "de")), ("q3.low", ("de",)), ("title", ())]  # fmt: skip
    assert text_files.copy_missing_texts(texts, KEYS, "en", "de") == {
        ("q3.low", "de"): TEXTS["q3.low", "en"]
    }


def test_texts_go_through_files_unchanged() -> None:
    keys = [key for key in KEYS if key != "contact"]
    german = {pair: body for pair, body in TEXTS.items() if pair[1] == "de" and pair[0] in keys}
    po = text_files.format_po(keys, "en", "de", TEXTS)
    assert text_files.parse_po(po, "de", keys) == german
    both = {pair: body for pair, body in TEXTS.items() if pair[0] in keys}
    table = text_files.format_csv(keys, ["en", "de"], TEXTS)
    assert text_files.parse_csv(table, ["en", "de"], keys) == both
    with pytest.raises(Invalid, match="does not have: title"):
        text_files.parse_csv(table, ["en", "de"], [key for key in keys if key != "title"])
    with pytest.raises(Invalid, match="does not have: title"):
        text_files.parse_po(po, "de", [key for key in keys if key != "title"])


@pytest.mark.parametrize(("content", "words"), [
    (b"name,en\r\n", "first row"), (b"key,en,en\r\n", "twice"), (b"key,fr\r\ntitle,x\r\n", "Languages"),
    (b"key,en\r\ntitle\r\n", "Row 2"), (b"key,en\r\ntitle,a\r\ntitle,b\r\n", "Row 3"),
    (b"key,en\r\n\xff,a\r\n", "UTF-8"), (b'key,en\r\n"title,a', "CSV"),
    (b"key,en\r\ntitle," + b"a" * 20_001, "at most"), (b"a" * 2_000_001, "larger"),
    (b"key,en\r\n" + b"title,a\r\n" * 20_000, "at most"),
])  # fmt: skip
def test_csv_files_that_do_not_fit_are_refused(content: bytes, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        text_files.parse_csv(content, ["en"], ["title"])


@pytest.mark.parametrize("content", [b"msgid oops", b'msgctxt "title"\nmsgid "a"\nmsgstr "\xff"\n'])
def test_po_files_that_do_not_fit_are_refused(content: bytes) -> None:
    with pytest.raises(Invalid):
        text_files.parse_po(content, "en", ["title"])
