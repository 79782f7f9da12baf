"""Convert blocks to forms and back, with fields derived from the block models."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, TypeAdapter, ValidationError

from theodolite_study.designer.instrument_edits import describe_first_problem, get_block_kinds
from theodolite_study.model.blocks import BaseBlock, to_integer
from theodolite_study.model.instrument import STAGES, Instrument
from theodolite_study.model.rules import AllOf, AnyOf, Comparison, NotRule, Rule
from theodolite_study.refusals import Invalid

Fields: TypeAlias = Mapping[str, Sequence[str]]
Checked = TypeVar("Checked", bound=BaseModel)
MAX_RULE_ROWS = 4
"""Number of comparisons in a form; deeper rules are written as JSON."""
NOT_IN_FORM = ("kind", "show_if")
FIELD_LABELS = {
    "name": "Name", "required": "An answer is required", "points": "Points of the scale",
    "labels": "Words at", "options": "Options, one key a line", "several": "Several can be chosen",
    "least": "Least", "most": "Most", "other": "“Something else”, in words of one's own",
    "order": "Order of the options", "lines": "Lines", "step": "Step",
    "of": "Which explanations, one key a line", "tie": "“No difference” can be chosen",
    "items": "Items, one key a line", "shapes": "Shapes",
    "nothing": "“Nothing to mark” can be chosen",
}  # fmt: skip


@dataclass(frozen=True)
class FormField:
    """Form field for one setting of a block."""

    name: str
    words: str
    kind: Literal["text", "number", "checkbox", "select", "lines", "several"]
    value: Any
    options: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


def get_form_fields(record: BaseModel, labels: Mapping[str, str] = FIELD_LABELS) -> list[FormField]:
    """Return the form fields of a block or another record, in the order of its model."""
    fields = []
    for name, info in type(record).model_fields.items():
        if name in NOT_IN_FORM or get_args(info.annotation) == (False,):
            continue
        value = getattr(record, name)
        words = labels.get(name, name)
        kind, options = _field_kind(info.annotation)
        limits = [*info.metadata, *_inner_metadata(info.annotation)]
        least: Any = next((m.ge for m in limits if isinstance(m, Ge)), None)
        least = next((m.gt for m in limits if isinstance(m, Gt)), least)
        most: Any = next((m.le for m in limits if isinstance(m, Le)), None)
        display = "\n".join(value) if kind == "lines" else value
        display = f"{value:g}" if isinstance(value, float) else display
        fields.append(FormField(name, words, kind, display, options, least, most))  # type: ignore[arg-type]
    return fields


def _bare_annotation(annotation: Any) -> Any:
    """Return an annotation without None and without metadata."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in (Union, UnionType):
            annotation = next(part for part in get_args(annotation) if part is not NoneType)
        else:
            return annotation


def _inner_metadata(annotation: Any) -> list[Any]:
    """Return the metadata of the number inside of `int

    None`.
    """
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    metadata = [m for part in parts if get_origin(part) is Annotated for m in get_args(part)[1:]]
    return [n for m in metadata for n in getattr(m, "metadata", [m])]


def _field_kind(annotation: Any) -> tuple[str, tuple[str, ...]]:
    plain = _bare_annotation(annotation)
    if plain is bool:
        return "checkbox", ()
    if plain in (int, float):
        return "number", ()
    if get_origin(plain) is Literal:
        return "select", get_args(plain)
    if get_origin(plain) is list:
        return "lines", ()
    if get_origin(plain) is tuple:
        return "several", get_args(get_args(plain)[0])
    return "text", ()


def parse_block(kind: str, fields: Fields, instrument: Instrument) -> BaseBlock:
    """Build a block from a form, or raise with a message where it does not fit."""
    model = get_block_kinds().get(kind)
    if model is None:
        raise Invalid(f"There is no block of the kind “{kind}”.")
    values: dict[str, Any] = {"kind": kind, **parse_values(model, fields)}
    rule = parse_rule(fields, instrument)
    if rule is not None:
        values["show_if"] = rule
    return validate_record(model, values)


def parse_values(model: type[BaseModel], fields: Fields) -> dict[str, Any]:
    """Parse the fields of a model from a form; blank ones keep their defaults."""
    values: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        if name not in NOT_IN_FORM and get_args(info.annotation) != (False,):
            value = _value(_field_kind(info.annotation)[0], fields.get(name, ()))
            if value is not None:
                values[name] = value
    return values


def validate_record(model: type[Checked], values: Mapping[str, Any]) -> Checked:
    """Build a record from values, or raise with a message."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise Invalid(describe_first_problem(error)) from error


def _value(kind: str, sent: Sequence[str]) -> Any:
    first = sent[0].strip() if sent else ""
    if kind == "checkbox":
        return bool(first)
    if kind == "several":
        return tuple(sent)
    if kind == "lines":
        return [line.strip() for line in first.splitlines() if line.strip()]
    if not first:
        return None
    return parse_number(first) if kind == "number" else first


def parse_number(text: str) -> int | float | str:
    """Parse a number, as an integer where possible; leave other text to the model."""
    try:
        number = float(text)
    except ValueError:
        return text
    exact = to_integer(number)
    return number if exact is None else exact


@dataclass(frozen=True)
class RuleRows:
    """Rule as rows of a form: comparisons joined by all, any or none."""

    how: Literal["all", "any", "none"]
    rows: tuple[tuple[str, str, str], ...]


def to_rule_rows(rule: Rule | None) -> RuleRows | None:
    """Convert a rule to rows; None if it is nested too deeply for rows."""
    how: Literal["all", "any", "none"] = "all"
    if isinstance(rule, NotRule):
        rule, how = rule.none, "none"
    parts: Sequence[Rule] = [] if rule is None else [rule]
    if isinstance(rule, AnyOf) or (isinstance(rule, AllOf) and how == "all"):
        parts = rule.any if isinstance(rule, AnyOf) else rule.all
        how = "any" if how == "all" and isinstance(rule, AnyOf) else how
    if len(parts) > MAX_RULE_ROWS or not all(isinstance(part, Comparison) for part in parts):
        return None
    return RuleRows(how, tuple((p.block, p.op, _value_text(p.value)) for p in parts
                               if isinstance(p, Comparison)))  # fmt: skip


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def parse_rule(fields: Fields, instrument: Instrument) -> dict[str, Any] | None:
    """Parse the rule of a block from rows of a form, or from JSON."""
    written = "".join(fields.get("rule_json", ())).strip()
    if written:
        try:
            rule = TypeAdapter(Rule).validate_python(json.loads(written))
        except ValidationError as error:
            raise Invalid(f"The rule: {describe_first_problem(error)}") from error
        except (ValueError, RecursionError) as error:
            raise Invalid("The rule is no JSON.") from error
        assert isinstance(rule, BaseModel)  # noqa: S101
        return rule.model_dump(mode="json", by_alias=True, exclude_none=True)
    numbers = _numeric_blocks(instrument)
    rows = []
    for row in range(MAX_RULE_ROWS):
        block, op, text = (
            (fields.get(f"rule_{part}_{row}") or [""])[0].strip()
            for part in ("block", "op", "value")
        )
        if block:
            rows.append(_comparison(block, op or "answered", text, numeric=block in numbers))
    how = (fields.get("rule_how") or ["all"])[0]
    if not rows:
        return None
    if how == "none":
        return {"not": rows[0] if len(rows) == 1 else {"any": rows}}
    return rows[0] if len(rows) == 1 else {"any" if how == "any" else "all": rows}


def _numeric_blocks(instrument: Instrument) -> set[str]:
    return {
        block.name
        for stage in STAGES
        for block in instrument.blocks(stage)
        if block.kind in ("likert", "number", "slider")
    }


def _comparison(block: str, op: str, text: str, *, numeric: bool) -> dict[str, Any]:
    def operand(part: str) -> int | float | str:
        return parse_number(part.strip()) if numeric else part.strip()

    if op == "answered":
        return {"block": block, "op": op}
    value: Any = [operand(part) for part in text.split(",")] if op == "in" else operand(text)
    return {"block": block, "op": op, "value": value}
