"""Tests run with shapes checked where functions and records name one (``support.shape_checks``)."""

import jaxtyping
import numpy as np
import pytest

from theodolite._stats.groups import SampleGroups, assign_groups
from theodolite.errors import printable


def test_shape_checks_wrong_axes_of_function_raise() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        assign_groups(np.zeros((2, 2), np.int64), seed=0)


def test_shape_checks_wrong_axes_of_record_raise() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        SampleGroups(rows=np.zeros((2, 2), np.int64), n=2)


def test_shape_checks_functions_without_shape_not_wrapped() -> None:
    assert not hasattr(printable, "__wrapped__")
