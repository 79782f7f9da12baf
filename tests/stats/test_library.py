"""The library is compiled once, found, chosen, and done without where it does not load."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from theodolite._stats.native import build, functions, library
from theodolite.errors import EngineFallback, EvidenceError

has_compiler = pytest.mark.skipif(build.find_compiler() is None, reason="no C compiler here")
is_checkout = pytest.mark.skipif(not build.is_checkout(), reason="an installed wheel")


@pytest.fixture(autouse=True)
def _loaded_anew() -> None:
    library.load_library.cache_clear()


@pytest.mark.parametrize("name", ["native", "numpy"])
def test_a_choice_is_followed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(library.KERNELS_VARIABLE, name)
    assert library.get_kernels() == name


def test_another_choice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(library.KERNELS_VARIABLE, "fortran")
    with pytest.raises(EvidenceError, match="native or numpy"):
        library.get_kernels()


def test_without_a_library_numpy_is_used_and_native_cannot_be_forced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(library, "find_library", lambda: None)
    monkeypatch.delenv(library.KERNELS_VARIABLE, raising=False)
    assert library.get_kernels() == "numpy"
    monkeypatch.setenv(library.KERNELS_VARIABLE, "native")
    with pytest.raises(EvidenceError, match="not here"):
        library.get_kernels()


def test_a_library_that_does_not_load_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    broken = tmp_path / "kernels-0.so"
    broken.write_bytes(b"no library")
    monkeypatch.setattr(library, "find_library", lambda: broken)
    monkeypatch.delenv(library.KERNELS_VARIABLE, raising=False)
    with pytest.warns(EngineFallback, match="do not load"):
        assert library.get_kernels() == "numpy"
    recwarn.clear()
    assert library.get_kernels() == "numpy"
    assert not recwarn


@has_compiler
@is_checkout
def test_it_is_compiled_once_and_again_when_anything_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEODOLITE_CFLAGS", "-O0")
    path = build.compile_into(tmp_path)
    assert path is not None
    before = path.stat().st_mtime_ns
    assert build.compile_into(tmp_path) == path
    assert path.stat().st_mtime_ns == before
    assert [*tmp_path.iterdir()] == [path]
    monkeypatch.setenv("THEODOLITE_CFLAGS", "-O1")
    assert build.get_library_name() != path.name


@is_checkout
def test_without_a_compiler_or_with_one_that_fails_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "false")
    assert build.compile_into(tmp_path) is None
    monkeypatch.setenv("CC", str(tmp_path / "no compiler"))
    assert build.compile_into(tmp_path) is None
    assert not [*tmp_path.iterdir()]


@pytest.mark.skipif(library.load_library() is None, reason="no compiled library here")
def test_arrays_of_another_type_or_layout_never_reach_it() -> None:
    each, groups, sums = np.ones((4, 3)), np.zeros(4, np.int64), np.zeros((1, 3))
    functions.add_to_groups(each, groups, sums)
    assert (sums == 4).all()
    frozen = sums.copy()
    frozen.flags.writeable = False
    for wrong in (
        (each.astype(np.float32), groups, sums),
        (np.ones((3, 4)).T, groups, sums),
        (each, groups.astype(np.int32), sums),
        (each, groups, frozen),
    ):
        with pytest.raises(Exception, match="must"):
            functions.add_to_groups(*wrong)


def test_importing_theodolite_loads_nothing_heavy() -> None:
    heavy = {"scipy.stats", "sklearn", "numba", "pyarrow"}
    code = f"import sys, theodolite; print(sorted({heavy!r} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert answer.strip() == "[]"


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_vector_functions_of_c_refuse_what_they_would_read_outside_of(wrong: float) -> None:
    points, labels = np.zeros((40, 2)), np.arange(40) % 2
    terms, psi, counts = np.zeros(40), np.zeros(41), np.array([20, 20])
    with pytest.raises(ValueError, match="labels are not numbers from 0 to 1"):
        functions.label_vector_terms(slice(0, 40), points, (labels + 1, counts), 3, psi, terms)
    points[7, 1] = wrong
    many = np.stack([labels, labels])
    for call in (
        lambda: functions.label_vector_terms(slice(0, 40), points, (labels, counts), 3, psi, terms),
        lambda: functions.ross_vector_terms(slice(0, 40), points, (labels, counts), 3, psi, terms),
        lambda: functions.ross_vector_many_terms(
            slice(0, 40), points, (many, np.array([[20, 20]] * 2)), 3, psi, np.zeros((2, 40))
        ),
        lambda: functions.ksg_vector_terms(slice(0, 40), np.zeros((40, 1)), points, 3, psi, terms),
    ):
        with pytest.raises(ValueError, match="NaN or infinity"):
            call()
