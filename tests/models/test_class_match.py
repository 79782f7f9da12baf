"""Classes of a model and of a data set, matched by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.models.class_match import match_classes

NAMES = st.lists(st.text("abcdefgh", min_size=3, max_size=6), min_size=2, max_size=8, unique=True)


@given(names=NAMES, data=st.data())
def test_match_classes_any_order_and_spelling_same(names: list[str], data: st.DataObject) -> None:
    others = [f"{name}zz" for name in names]
    spelled = [f" {name.upper()}, also {name}s" for name in names]
    model = data.draw(st.permutations([*spelled, *others]))
    match = match_classes(model, names)
    assert match.kind == "same" and not match.by_order
    assert [model[k] for k in match.columns] == spelled


@pytest.mark.parametrize(
    ("model", "data", "n_outputs", "kind", "classes"),
    [
        (["Great_Dane", "pug"], ["great-dane", "pug", "beagle"], 2, "part", [0, 1]),
        (["pug"], ["great dane", "pug", "beagle"], 1, "other", []),
        (["pug", "pug", "beagle"], ["pug", "beagle"], 3, "other", []),
        (["pug", "beagle", "chow"], ["Pug", "pug", "beagle", "chow"], 3, "part", [2, 3]),
        ([], ["pug", "beagle"], 2, "same", [0, 1]),
        ([], ["pug", "beagle"], 1000, "other", []),
        (["yes", "no"], ["pug", "beagle"], 2, "other", []),
    ],
)
def test_match_classes_table(
    model: list[str], data: list[str], n_outputs: int, kind: str, classes: list[int]
) -> None:
    match = match_classes(model, data, n_outputs=n_outputs)
    assert (match.kind, match.classes.tolist()) == (kind, classes)
    assert match.by_order == (not model and kind == "same")


def test_match_classes_part_needs_fifty_test_images() -> None:
    labels = np.repeat([0, 1, 2], [25, 24, 100])
    few = match_classes(["a", "b"], ["a", "b", "c"], test_labels=labels)
    enough = match_classes(["a", "b"], ["a", "b", "c"], test_labels=np.append(labels, 1))
    assert (few.kind, few.label) == ("other", "probe")
    assert (enough.kind, enough.label) == ("part", "network, 2 of 3 classes")
