"""Random groups: where a sample lies, sums in a fixed order, widths of intervals."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from theodolite._stats.groups import (
    GROUPS,
    SampleGroups,
    assign_groups,
    draw_group_weights,
    sum_groups,
    sum_resampled_groups,
)
from theodolite._stats.resampling import draw_poisson_weights


def test_groups_are_those_of_the_design() -> None:
    assert assign_groups(np.arange(6), seed=0).tolist() == [158, 606, 227, 915, 435, 575]
    assert (assign_groups(np.arange(6), seed=1) != assign_groups(np.arange(6), seed=0)).any()


def test_groups_are_alike_in_size_and_have_no_order() -> None:
    groups = assign_groups(np.arange(1_000_000), seed=3)
    sizes = np.bincount(groups, minlength=GROUPS)
    assert_allclose(sizes.var(), 1_000, rtol=0.15)  # as chance puts them there
    assert abs(np.corrcoef(groups[1:], groups[:-1])[0, 1]) < 0.005


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_group_sums_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    each, groups = random.normal(size=(5_000, *shape)), random.integers(0, GROUPS, 5_000)
    sums = np.zeros((GROUPS, *shape))
    np.add.at(sums, groups, each)  # one after the other, too
    assert_array_equal(sum_groups(each, SampleGroups.from_block(groups, slice(0, GROUPS))), sums)
    some = SampleGroups.from_block(groups, slice(10, 30))
    assert_array_equal(sum_groups(each, some), sums[10:30])
    assert_allclose(np.tensordot(some.to_weights(), each, axes=1), sums[10:30], atol=1e-12)
    rows = np.flatnonzero(each.reshape(len(each), -1)[:, 0] > 0)
    assert_allclose(sum_groups(each[rows], some[:, rows]),
                    np.tensordot(some.to_weights()[:, rows], each[rows], axes=1), atol=1e-12)  # fmt: skip


def test_resampled_sums_are_those_of_numpy() -> None:
    sums = np.random.default_rng(1).normal(size=(GROUPS, 2, 3))
    weights = draw_group_weights(50, seed=4)
    assert (weights[0] == 1).all()
    assert_array_equal(weights[1:], draw_poisson_weights(np.arange(GROUPS), 50, seed=4))
    assert_allclose(
        sum_resampled_groups(weights, sums), np.tensordot(weights, sums, axes=1), atol=1e-10
    )


CPUS = {
    "here": {},
    "Haswell": {
        "OPENBLAS_CORETYPE": "Haswell", "NUMBA_CPU_NAME": "haswell",
        "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX",
    },
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem", "NUMBA_CPU_NAME": "nehalem"},
}  # fmt: skip
SUMS = """
import hashlib, numpy as np
from theodolite._stats.groups import SampleGroups, assign_groups, sum_groups, draw_group_weights, sum_resampled_groups
from theodolite._stats.resampling import draw_poisson_weights
from theodolite._stats.weighted_sums import sum_weighted
each = np.random.default_rng(0).normal(size=(20_000, 7))
sums = sum_groups(each, SampleGroups.from_block(assign_groups(np.arange(20_000), 0), slice(0, 1_000)))
resampled = sum_resampled_groups(draw_group_weights(200, 0), sums)
weighted = sum_weighted(draw_poisson_weights(np.arange(2_000), 100, 0), each[:2_000])
print(hashlib.sha256(weighted.tobytes()).hexdigest())
print(hashlib.sha256(sums.tobytes()).hexdigest(), hashlib.sha256(resampled.tobytes()).hexdigest())
"""


def test_sums_have_the_same_bits_on_other_kinds_of_cpu() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SUMS], env=os.environ | settings,
            capture_output=True, text=True, check=True,
        ).stdout
        for settings in CPUS.values()
    }  # fmt: skip
    assert len(outputs) == 1
