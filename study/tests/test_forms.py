"""Forms are read strictly: known fields, of known sizes, with values that can be."""

import json
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite_study.answers import LONGEST_TEXT, MOST_BOXES
from theodolite_study.refusals import Invalid
from theodolite_study.web.forms import (
    AboutForm,
    BaselineForm,
    BeginForm,
    Draft,
    PlainForm,
    RankingsForm,
    RatingsForm,
    ReleaseForm,
    WithdrawForm,
    read_form,
)
from theodolite_study.web.staff_forms import (
    EnrolForm,
    InvalidateForm,
    LiftForm,
    LogInForm,
    QuotaForm,
    StateForm,
)

KEY = str(uuid4())
BOX = {"x": 1, "y": 2, "width": 3, "height": 4}
NEEDED = {
    RatingsForm: {"key": KEY},
    QuotaForm: {"quota": "5"},
    LiftForm: {"row": "1"},
    InvalidateForm: {"reason": "a machine"},
}
FORMS = [
    PlainForm, BeginForm, WithdrawForm, AboutForm, ReleaseForm, BaselineForm, RatingsForm,
    RankingsForm, LogInForm, EnrolForm, StateForm, QuotaForm, LiftForm, InvalidateForm, Draft,
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_unknown_fields_are_refused(form: type) -> None:
    needed = NEEDED.get(form, {})
    read_form(form, needed)
    with pytest.raises(Invalid):
        read_form(form, needed | {"counted": "true"})


@pytest.mark.parametrize("form", [BeginForm, AboutForm, ReleaseForm, LogInForm, EnrolForm])
def test_long_fields_and_letters_that_are_none_are_refused(form: type) -> None:
    for name in form.model_fields:
        with pytest.raises(Invalid):
            read_form(form, {name: "x" * 5000})
    with pytest.raises(Invalid):
        read_form(form, {"csrf": "a\x00b"})
    with pytest.raises(Invalid):
        read_form(form, {"csrf": "\ud800"})


@pytest.mark.parametrize("value", ["0", "6", "-1", "3.5", "three", "1e0", " 4", "４"])
def test_ratings_are_one_to_five(value: str) -> None:
    assert read_form(RatingsForm, {"key": KEY, "q1": "5"}).answers() == {"q1": 5}
    with pytest.raises(Invalid, match="1 to 5"):
        read_form(RatingsForm, {"key": KEY, "q1": value})


@pytest.mark.parametrize(
    "boxes",
    [
        "no json", "[1]", '[{"x": 1}]', json.dumps([BOX | {"z": 1}]), json.dumps([BOX | {"x": -1}]),
        json.dumps([BOX | {"width": 0}]), '[{"x": NaN, "y": 1, "width": 1, "height": 1}]',
        json.dumps([BOX] * (MOST_BOXES + 1)), "[" * 2000, "x" * 100_000,
    ],
)  # fmt: skip
def test_frames_that_are_none_are_refused(boxes: str) -> None:
    with pytest.raises(Invalid):
        read_form(BaselineForm, {"text": "ears", "boxes": boxes})


def test_frames_come_as_json_or_as_numbers() -> None:
    as_json = read_form(BaselineForm, {"text": "ears", "boxes": json.dumps([BOX])})
    numbers = {f"box_{name}_0": str(value) for name, value in BOX.items()} | {"box_x_1": " "}
    as_numbers = read_form(BaselineForm, {"text": "ears", "boxes": "", **numbers})
    assert as_json.boxes == as_numbers.boxes and len(as_json.boxes) == 1


def test_a_text_has_an_end() -> None:
    assert read_form(BaselineForm, {"text": "x" * LONGEST_TEXT}).text
    with pytest.raises(Invalid):
        read_form(BaselineForm, {"text": "x" * (5 * LONGEST_TEXT)})


def test_places_become_orders() -> None:
    form = read_form(RankingsForm, {"q7_0": "2", "q7_1": "1", "q7_2": "3"})
    assert form.orders() == {"q7": [1, 0, 2]}
    assert read_form(RankingsForm, {"q7_0": "1", "q7_1": "1"}).orders() == {"q7": []}
    for wrong in ("0", "100", "first", "1.5"):
        with pytest.raises(Invalid):
            read_form(RankingsForm, {"q7_0": wrong})


@given(
    fields=st.dictionaries(
        st.sampled_from(["text", "boxes", "client", "csrf", "box_x_0", "box_width_77", "q1", "é"]),
        st.one_of(st.text(max_size=40), st.just(json.dumps([BOX])), st.just('{"a": {}}')),
    )
)
def test_anything_is_read_or_refused(fields: dict[str, str]) -> None:
    try:
        read = read_form(BaselineForm, fields)
    except Invalid as refusal:
        assert refusal.message
    else:
        assert all(box.width > 0 and box.height > 0 for box in read.boxes or [])
