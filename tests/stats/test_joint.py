"""The joint leakage estimate: worked numbers, an independent oracle, laws, limits and allowances."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.joint_oracle import joint_leakage, second_example
from threadpoolctl import threadpool_limits

from theodolite._stats.joint.annotation import JointAllowance, concept_allowances
from theodolite._stats.joint.gains import JointGains, joint_gains, learn_base, task_of
from theodolite._stats.joint.inputs import JointInputs, joint_inputs
from theodolite._stats.joint.limits import group_labels, rows_to_use
from theodolite._stats.joint.moments import joint_moments, needed_clusters, score_share
from theodolite._stats.predictive_interval import fault_interval

PHI = (np.sqrt(5) - 1) / 2


def _first_example(*, leaks: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    i = np.arange(60)
    truth = np.stack([i // 2 % 2, i // 4 % 2], axis=1)
    labels = (7 * i % 10 >= 5).astype(int)
    sign = np.where(3 * i % 7 < 4, 1.0, -1.0)
    a, b = 0.2 + (i * PHI) % 1, 0.2 + (i * PHI**2 + 0.3) % 1
    other = sign * np.where(labels == 1, 1, -1) if leaks else np.where(5 * i % 11 < 6, 1, -1)
    return truth + 0.3 * np.stack([sign * a, other * b], axis=1), truth, labels


def _learn(
    values: np.ndarray, truth: np.ndarray, labels: np.ndarray, keys: Any = None, **options: Any
) -> tuple[JointInputs, JointGains]:
    names = [str(key) for key in (range(len(labels)) if keys is None else keys)]
    inputs = joint_inputs(values, truth, labels, names)
    return inputs, joint_gains(inputs, **options)


def _share(*arrays: Any, **options: Any) -> float:
    inputs, gains = _learn(*arrays, **options)
    return joint_moments(inputs, gains, score_share(inputs, gains)).value


def test_joint_gains_worked_example() -> None:
    inputs, gains = _learn(*_first_example(leaks=True), products=False)
    assert inputs.folds[:12].tolist() == [3, 0, 3, 0, 4, 6, 6, 3, 9, 0, 9, 6]
    scores = [[-0.214922, 0.039960], [0.800231, 1.446165], [-0.585202, 0.544082]]
    np.testing.assert_allclose(inputs.scores[:3], scores, atol=6e-7)
    np.testing.assert_allclose(gains.base[:2], [[-0.665611, -0.721463], [-0.693147] * 2], atol=6e-7)
    weights = [0.5229, 0.1899, 0.1295, 0.0710, 0.0867]
    np.testing.assert_allclose(gains.base_shares.mean(axis=0), weights, atol=6e-5)
    np.testing.assert_allclose(gains.out[:4], [-0.112995, 0.664998, 0.054408, 0.621793], atol=6e-7)
    moments = joint_moments(inputs, gains, score_share(inputs, gains))
    result = fault_interval(moments, 0.05, 0.95)
    numbers = [moments.surprise, moments.value, moments.error, result.low]
    np.testing.assert_allclose(numbers, [0.706086, 0.628196, 0.060453, 0.450138], atol=6e-7)
    assert gains.full_shares[:, 6].mean() == pytest.approx(0.9995, abs=6e-5)


def test_joint_gains_worked_example_without_a_leak() -> None:
    inputs, gains = _learn(*_first_example(leaks=False), products=False)
    moments = joint_moments(inputs, gains, score_share(inputs, gains))
    assert moments.value == pytest.approx(0.070429, abs=6e-7)
    assert moments.error == pytest.approx(0.066907, abs=6e-7)
    assert fault_interval(moments, 0.05, 0.95).low == pytest.approx(-0.126638, abs=6e-7)


def _compare(values: Any, truth: Any, labels: Any, keys: list[str], known: Any) -> None:
    """Compare everything that the oracle gives with the package."""
    truth = np.asarray(truth).astype(int)
    strata = truth if known is None else np.where(known, truth, -1)
    inputs, gains = _learn(values, strata, np.asarray(labels), keys)
    oracle = joint_leakage(values, truth, labels, keys, known)
    seen = score_share(inputs, gains)
    moments = joint_moments(inputs, gains, seen)
    assert inputs.folds.tolist() == np.asarray(oracle["folds"]).tolist()
    np.testing.assert_allclose(gains.out, oracle["out"], atol=2e-6)
    ours = [moments.value, moments.surprise, moments.error, seen.value, seen.error]
    np.testing.assert_allclose(ours, [oracle[k] for k in ("T", "H", "e", "T_s", "e_s")], atol=2e-6)
    result = fault_interval(moments, 0.05, 0.95)
    tests = [result.p_below_tolerance, result.p_nonzero, result.p_above_tolerance]
    np.testing.assert_allclose(
        tests, [oracle[k] for k in ("p_free", "p_some", "p_too_much")], atol=1e-5
    )
    assert max(result.low, -1.0) == pytest.approx(oracle["low"], abs=1e-5)


def test_joint_gains_second_example_equals_the_oracle() -> None:
    """Bins, three labels, clusters of unequal size, unknown truth, and the score estimate."""
    values, truth, labels, keys, known = second_example()
    _compare(values, truth, np.unique(labels, return_inverse=True)[1], keys, known)


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_joint_gains_equal_the_oracle(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, concepts, labels = int(random.integers(24, 60)), int(random.integers(1, 4)), 2
    truth = random.random((n, concepts)) < 0.5
    names = random.integers(0, n, n) if random.random() < 0.5 else np.arange(n)
    y = random.integers(0, labels, n)
    values = truth + 0.3 * random.normal(size=truth.shape) + 0.2 * y[:, None]
    known = random.random(truth.shape) < 0.9 if random.random() < 0.5 else None
    _compare(values, truth, y.tolist(), names.astype(str).tolist(), known)


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_joint_share_does_not_depend_on_form(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, concepts = 80, 3
    truth = (random.random((n, concepts)) < 0.5).astype(int)
    labels = random.integers(0, 2, n)
    values = truth + 0.3 * random.normal(size=truth.shape) + 0.2 * labels[:, None]
    keys = np.arange(n)
    plain = _share(values, truth, labels, keys)
    order = random.permutation(n)
    columns = random.permutation(concepts)
    forms = {
        "row order": (values[order], truth[order], labels[order], keys[order]),
        "increasing recoding": (np.exp(3 * values), truth, labels, keys),
        "names of labels": (values, truth, 7 - 2 * labels, keys),
        "inverted truth": (values, 1 - truth, labels, keys),
        "order of concepts": (values[:, columns], truth[:, columns], labels, keys),
    }
    for form in forms.values():
        assert _share(*form) == pytest.approx(plain, abs=1e-9)
    twice = np.repeat(np.arange(n), 2)
    again = _share(values[twice], truth[twice], labels[twice], twice)
    assert again == pytest.approx(plain, abs=1e-8)


def test_joint_share_same_with_any_number_of_threads() -> None:
    from theodolite.metrics import joint_task_leakage  # noqa: PLC0415

    random = np.random.default_rng(0)
    truth = random.random((400, 12)) < 0.5
    labels = random.integers(0, 4, 400)
    values = truth + 0.3 * random.normal(size=truth.shape) + 0.05 * labels[:, None]
    result = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            result.append(float(joint_task_leakage(values, truth, labels)))
    assert result[0] == result[1]


def test_joint_share_undefined_without_two_labels() -> None:
    values, truth, _ = _first_example(leaks=True)
    assert np.isnan(_share(values, truth, np.zeros(60, int)))


@pytest.mark.parametrize(("rows", "most"), [(100, 40), (100, 100), (30, 7)])
def test_rows_to_use_takes_whole_clusters(rows: int, most: int) -> None:
    keys = [str(i // 3) for i in range(rows)]
    chosen = rows_to_use(keys, most)
    if rows <= most:
        assert chosen is None
        return
    assert chosen is not None
    assert 0 < len(chosen) <= most
    clusters = {keys[row] for row in chosen}
    assert len(chosen) == sum(key in clusters for key in keys)
    moved = rows_to_use(keys[::-1], most)
    assert moved is not None
    assert {keys[::-1][row] for row in moved} == clusters


def test_group_labels_keeps_few_and_joins_many() -> None:
    labels = np.arange(300) % 120
    keys = [str(i) for i in range(300)]
    grouped = group_labels(labels, keys)
    assert len(np.unique(grouped)) == 50
    assert all(len(np.unique(grouped[labels == own])) == 1 for own in range(120))
    np.testing.assert_array_equal(grouped, group_labels(1000 - labels, keys))
    np.testing.assert_array_equal(group_labels(labels % 7, keys), labels % 7)


def test_needed_clusters_worked_numbers() -> None:
    result = [needed_clusters(np.log(2), 0.05, k, 2) for k in (5, 30, 112)]
    np.testing.assert_allclose(result, [380, 530, 820], rtol=0.01)


@pytest.mark.parametrize("error", [0.02, 0.05, 0.1])
def test_joint_allowance_covers_what_wrong_annotations_do(error: float) -> None:
    """What real concepts tell beyond wrong annotations of them bounds an honest model's share."""
    real_shares, allowed = [], []
    belongs = np.array([[1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 1, 0]], bool)
    for seed in range(2):
        random = np.random.default_rng(seed)
        labels = random.integers(0, 2, 1000)
        real = random.random((1000, 6)) < np.where(belongs, 0.8, 0.2)[labels]
        annotated = (real ^ (random.random(real.shape) < error)).astype(int)
        surprise = []
        for truth in (real.astype(int), annotated):
            inputs = joint_inputs(real.astype(float), truth, labels, [str(i) for i in range(1000)])
            task = task_of(inputs)
            surprise.append(-task.chosen(learn_base(inputs, task)[0]).mean())
        real_shares.append(1 - surprise[0] / surprise[1])
        allowed.append(JointAllowance(inputs).share(np.full(6, error)))
    assert np.mean(real_shares) <= np.mean(allowed) <= 2 * np.mean(real_shares)


def test_concept_allowances_worked_example() -> None:
    """Of a concept that is the label, annotated with 10 % errors, the real one tells everything."""
    strata = np.array([[0] * 9 + [1] + [1] * 9 + [0]])
    labels = np.array([0] * 10 + [1] * 10)
    result = concept_allowances(strata, labels, np.ones(20), np.array([0.1]))
    assert result[0] == pytest.approx(1.0)
    assert concept_allowances(strata, labels, np.ones(20), np.array([0.0]))[0] == 0.0
    independent = np.array([[0, 1] * 10])
    assert concept_allowances(independent, labels, np.ones(20), np.array([0.1]))[0] < 1e-9
