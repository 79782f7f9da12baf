"""The leakage scores: worked numbers, naive oracles, planted leakage, and the faults they have."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, mutual_info_score, roc_auc_score

from theodolite._planted.leakage import planted_leakage
from theodolite._stats.information import ksg, plug_in, plug_in_entropy, ross
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics import (
    concept_prediction,
    concept_task_leakage,
    embedding_alignment,
    embedding_interconcept_information,
    embedding_self_information,
    embedding_task_information,
    embedding_task_leakage_given_concept,
    interconcept_leakage,
    interconcept_leakage_given_concepts,
    intervention_accuracy,
    intervention_score,
    niche_impurity,
    oracle_impurity,
    task_leakage_given_concept,
)
from theodolite.metrics.leak_free.impurity import impurity
from theodolite.metrics.leak_free.published import ConceptTaskLeakage, InterconceptLeakage

R = np.random.RandomState(0).uniform(size=(24, 3))
C = R > 0.5
Y = (C.sum(axis=1) >= 2).astype(int)
SAID = np.stack(
    [
        0.8 * C[:, 0] + 0.1 * Y + 0.1 * R[:, 0],
        0.8 * C[:, 1] + 0.1 * Y + 0.1 * R[:, 1],
        0.8 * C[:, 2] + 0.15 * C[:, 0] + 0.05 * R[:, 2],
    ],
    axis=1,
)
six = {"rtol": 0, "atol": 6e-7}


def test_worked_example_of_single_values() -> None:
    np.testing.assert_allclose(SAID[0], [0.95488135, 0.97151894, 0.98013817], atol=5e-9)
    np.testing.assert_allclose([ross(v, Y) for v in SAID.T], [0.422487, 0.714414, 0.385117], **six)
    np.testing.assert_allclose([plug_in(c, Y) for c in C.T], [0.242586, 0.031817, 0.135656], **six)
    result = concept_task_leakage(SAID, C, Y)
    np.testing.assert_allclose(result, [0.259542, 0.984779, 0.359897], **six)
    assert result.mean() == pytest.approx(0.534740, abs=6e-7)
    pairs = interconcept_leakage(SAID, C, over="pairs")
    np.testing.assert_allclose(pairs, [0.334817, 0.365542, 0.184528], **six)
    each = interconcept_leakage(SAID, C)
    np.testing.assert_allclose(each, [0.350179, 0.259672, 0.275035], **six)
    assert each.mean() == pytest.approx(0.294962, abs=6e-7)


def test_worked_example_of_vectors() -> None:
    vectors = np.stack([SAID, R], axis=2)
    result = embedding_task_information(vectors, Y)
    np.testing.assert_allclose(result, [0.574455, 0.084271, 0.414176], **six)
    assert result.mean() == pytest.approx(0.357634, abs=6e-7)
    assert embedding_self_information(vectors, C).mean() == pytest.approx(1.030953, abs=6e-7)
    published = embedding_interconcept_information(vectors, C)
    assert float(published) == pytest.approx(0.085429, abs=6e-7)
    of_paper = embedding_interconcept_information(vectors, C, form="paper")
    assert float(of_paper) == pytest.approx(0.170857, abs=6e-7)
    assert ksg(vectors[:, 0], vectors[:, 1]) == pytest.approx(0.069854, abs=6e-7)
    assert float(impurity(np.array([[1, 0.7], [0.6, 1]]), np.array([[1, 0.5], [0.5, 1]]))) == (
        pytest.approx(0.223607, abs=6e-7)
    )


def test_edges_of_the_worked_example() -> None:
    alone = Y.copy()
    alone[0] = 7
    normalized = [ross(v, alone) / plug_in_entropy(alone) for v in SAID.T]
    np.testing.assert_allclose(normalized, [0.497278, 0.853985, 0.443241], **six)
    assert np.isnan(concept_task_leakage(SAID, C, np.zeros(24, int))).all()  # published: infinite
    assert np.isnan(interconcept_leakage(SAID[:, :1], C[:, :1])).all()
    same = interconcept_leakage(SAID[:, [0, 0]], np.stack([C[:, 0], C[:, 1]], axis=1), over="pairs")
    assert same == pytest.approx(1 - plug_in(C[:, 0], C[:, 1]) / 0.6925, abs=2e-3)
    constant = np.zeros((24, 2), bool)
    assert (interconcept_leakage(constant.astype(float), constant) == 0).all()


@given(st.integers(0, 2**32 - 1), st.integers(12, 50), st.booleans(), st.booleans())
@settings(max_examples=40)
def test_scores_are_their_definitions(seed: int, n: int, hard: bool, partly: bool) -> None:
    random = np.random.default_rng(seed)
    truth = random.random((n, 3)) < 0.5
    labels = random.integers(0, 2, n)
    values = random.normal(size=(n, 3)) + truth
    if hard:
        values = (values > 0.5).astype(float)
    known = random.random((n, 3)) < 0.8 if partly else np.ones((n, 3), bool)
    evidence = ConceptEvidence(values=values, truth=truth, labels=labels, known=known)
    task = ConceptTaskLeakage.of(evidence).value()
    inter = InterconceptLeakage.of(evidence, over="pairs").value()
    for j in range(3):
        rows = known[:, j]
        v, c, y = values[rows, j], truth[rows, j], labels[rows]
        said = mutual_info_score(v, y) if hard else max(ross(v, y), 0)
        expected = np.clip((said - plug_in(c, y)) / plug_in_entropy(y), 0, 1)
        assert task[j] == pytest.approx(expected, abs=1e-9)
    for number, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        rows = known[:, i] & known[:, j]
        a, b, c, d = values[rows, i], values[rows, j], truth[rows, i], truth[rows, j]
        # entropies are those of each concept where it is known
        n_i, n_j = known[:, i].sum(), known[:, j].sum()
        own = [plug_in_entropy(truth[known[:, q], q]) for q in (i, j)]
        true = plug_in(c, d) / (np.sqrt(np.prod(own)) + 1e-10)
        if hard:
            of = [plug_in_entropy(values[known[:, q], q].astype(int)) for q in (i, j)]
            said = mutual_info_score(a, b) / (np.sqrt(np.prod(of)) + 1e-10)
        else:
            from scipy.special import digamma  # noqa: PLC0415

            of = [digamma(m) - digamma(4) for m in (n_i, n_j)]
            said = max(ksg(a, b), 0) / np.sqrt(np.prod(of))
        assert inter[number] == pytest.approx(np.clip(said - true, 0, 1), abs=1e-8)


def test_hard_concepts_do_not_leak() -> None:
    random = np.random.default_rng(2)
    evidence = planted_leakage(2000, related=0.3)
    truth, labels = np.asarray(evidence.truth), np.asarray(evidence.labels)
    hard = (truth ^ (random.random(truth.shape) < 0.05)).astype(float)
    assert concept_task_leakage(hard, truth, labels).max() < 0.01
    assert interconcept_leakage(hard, truth).max() < 0.01
    assert task_leakage_given_concept(hard, truth, labels).max() < 0.01
    assert interconcept_leakage_given_concepts(hard, truth).max() < 0.02


def test_icl_is_blind_between_related_concepts_and_the_mended_score_is_not() -> None:
    def two(*, related: bool, leaky: bool) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(0)
        c = random.random((1000, 2)) < 0.5
        if related:
            c[:, 1] = c[:, 0] ^ (random.random(1000) < 0.1)
        shared, private = random.normal(size=(1000, 1)), random.normal(size=(1000, 2))
        added = 0.05 * shared + 0.005 * private if leaky else 0.01 * private
        return 0.1 + 0.8 * c + added, c

    for related in (False, True):
        clean, leaky = two(related=related, leaky=False), two(related=related, leaky=True)
        assert interconcept_leakage_given_concepts(*clean).max() < 0.1
        assert interconcept_leakage_given_concepts(*leaky).min() > 0.9
        expected = 0.0 if related else 0.35
        assert interconcept_leakage(*leaky).max() == pytest.approx(expected, abs=0.02)


def test_icl_falls_with_the_number_of_samples_and_the_mended_score_does_not() -> None:
    few, many = (planted_leakage(n, leakage=0.9, smuggled="concepts") for n in (300, 6000))
    old = [float(interconcept_leakage(e.values, e.truth).mean()) for e in (few, many)]
    new = [
        float(interconcept_leakage_given_concepts(e.values, e.truth).mean()) for e in (few, many)
    ]
    assert old[1] < 0.8 * old[0]
    assert new[1] == pytest.approx(new[0], rel=0.1)


def test_ctl_is_blind_to_leakage_into_badly_learned_concepts_and_the_mended_score_is_not() -> None:
    clean = planted_leakage(3000, mistaken=0.3, seed=1)
    leaky = planted_leakage(3000, mistaken=0.3, leakage=0.3, smuggled="label", seed=1)
    for e, least, most in ((clean, 0.0, 0.02), (leaky, 0.05, 0.1)):
        assert least <= task_leakage_given_concept(e.values, e.truth, e.labels).mean() < most
        assert concept_task_leakage(e.values, e.truth, e.labels).mean() < 0.001
    # it even ranks the other way round: more leakage, worse concepts, lower score
    little = planted_leakage(3000, leakage=0.3, smuggled="label", seed=1)
    much = planted_leakage(3000, mistaken=0.4, leakage=0.5, smuggled="label", seed=1)
    old = [concept_task_leakage(e.values, e.truth, e.labels).mean() for e in (little, much)]
    new = [task_leakage_given_concept(e.values, e.truth, e.labels).mean() for e in (little, much)]
    assert old[0] > old[1] + 0.01
    assert new[0] < new[1] - 0.1


@pytest.mark.parametrize("smuggled", ["label", "concepts"])
def test_mended_scores_rise_with_the_dial(smuggled: str) -> None:
    result = []
    for dial in (0.0, 0.3, 0.6, 0.9):
        e = planted_leakage(2000, leakage=dial, smuggled=smuggled, related=0.5)
        score = (
            task_leakage_given_concept(e.values, e.truth, e.labels)
            if smuggled == "label"
            else interconcept_leakage_given_concepts(e.values, e.truth)
        )
        result.append(score.mean())
    assert result[0] < 0.05
    assert all(later > earlier + 0.01 for earlier, later in itertools.pairwise(result))


def test_niche_impurity_as_published_measures_the_inside() -> None:
    random = np.random.default_rng(0)
    truth = random.random((300, 4)) < 0.5
    noise = random.normal(size=truth.shape)
    hard, soft = truth.astype(float), 0.1 + 0.8 * truth + 0.05 * noise
    for values in (hard, soft):
        assert 0.42 < niche_impurity(values, truth) < 0.56
        assert niche_impurity(values, truth, form="as_published") > 0.94
    assert 0.40 < niche_impurity(noise, truth) < 0.56
    # the other concepts give a concept that its own value does not
    copied = np.stack([noise[:, 0], truth[:, 0], noise[:, 1]], axis=1).astype(float)
    told = np.stack([truth[:, 0]] * 3, axis=1)
    assert niche_impurity(copied, told) < niche_impurity(copied, told, form="as_published")


@pytest.mark.parametrize("form", ["joint", "pairwise"])
def test_oracle_impurity_rises_for_a_concept_that_carries_another(form: str) -> None:
    random = np.random.default_rng(1)
    truth = random.random((700, 2)) < 0.5
    pure = truth + 0.01 * random.normal(size=truth.shape)
    carries = pure.copy()
    carries[:, 0] += 2.0 * truth[:, 1]
    assert (
        oracle_impurity(carries, truth, form=form) > oracle_impurity(pure, truth, form=form) + 0.1
    )
    assert oracle_impurity(pure, truth, form=form, seed=3) == oracle_impurity(
        pure, truth, form=form, seed=3
    )
    assert np.isnan(oracle_impurity(pure[:5], truth[:5], form=form))


def test_concept_prediction_agrees_with_scikit_learn() -> None:
    random = np.random.default_rng(0)
    truth = random.random((200, 3)) < 0.4
    values = np.clip(0.5 + 0.3 * random.normal(size=truth.shape) + 0.3 * truth, 0, 1)
    accuracy, f1, auc = concept_prediction(values, truth)
    for j in range(3):
        said = values[:, j] > 0.5
        assert accuracy[j] == pytest.approx(np.mean(said == truth[:, j]))
        assert f1[j] == pytest.approx(f1_score(truth[:, j], said))
        assert auc[j] == pytest.approx(roc_auc_score(truth[:, j], values[:, j]))
    never = concept_prediction(np.zeros((5, 1)), np.zeros((5, 1), bool))
    assert never[0, 0] == 1 and np.isnan(never[1:, 0]).all()


def test_alignment_takes_all_samples_where_the_published_code_takes_the_first() -> None:
    random = np.random.default_rng(0)
    truth = random.random((300, 1)) < 0.3
    labels = random.integers(0, 2, 300)
    told = labels[:, None, None] + 0.01 * random.normal(size=(300, 1, 1))
    nothing = random.normal(size=(300, 1, 1))
    positive = np.where(truth[:, :, None], told, nothing)
    negative = np.where(truth[:, :, None], nothing, told)
    for form in ("paper", "reference"):
        assert embedding_alignment(positive, negative, truth, labels, form=form)[0] > 1.5
        swapped = embedding_alignment(negative, positive, truth, labels, form=form)[0]
        assert swapped < -1.5
    first = np.flatnonzero(~truth[:, 0])[: truth.sum()]
    changed = nothing.copy()
    changed[np.setdiff1d(np.flatnonzero(~truth[:, 0]), first)] = 9.0
    positive_changed = np.where(truth[:, :, None], told, changed)
    one, other = (
        embedding_alignment(p, negative, truth, labels, form="reference")
        for p in (positive, positive_changed)
    )
    assert one == other


def test_interventions() -> None:
    right = np.zeros((4, 2, 3), bool)
    right[:, 0] = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]]
    right[:, 1, 0] = True
    assert intervention_accuracy(right).tolist() == [0.75, 0.75, 0.5]
    assert intervention_accuracy(right, policy=1).tolist() == [1, 0, 0]
    reference = np.array([1, 1, 1, 0], bool)
    assert intervention_score(right, right_reference=reference) == 0.25
    assert intervention_score(right, reference="one") == 0.5


def test_equal_vectors_are_told_apart() -> None:
    """A fully leaking embedding of few distinct vectors must not score 0."""
    random = np.random.default_rng(0)
    truth, labels = random.random((200, 2)) < 0.5, random.integers(0, 2, 200)
    vectors = np.stack([truth.astype(float), np.repeat(labels[:, None], 2, axis=1)], axis=2)
    result = embedding_task_leakage_given_concept(vectors, truth, labels)
    np.testing.assert_allclose(result, 1.0, atol=0.02)
    np.testing.assert_allclose(embedding_self_information(vectors, truth), 1.0, atol=0.05)
    assert vectors.max() == 1.0  # not changed


def test_one_repeated_value_does_not_wipe_out_a_small_column() -> None:
    random = np.random.default_rng(0)
    truth, labels = random.random((300, 1)) < 0.5, random.integers(0, 2, 300)
    small = 1e-12 * (1 + labels + 0.1 * random.random(300)) + 1e-11 * truth[:, 0]
    values = np.stack([small, random.random(300)], axis=1)
    both = np.repeat(truth, 2, axis=1)
    before = task_leakage_given_concept(values, both, labels)[0]
    values[1, 0] = values[0, 0]
    assert task_leakage_given_concept(values, both, labels)[0] > before - 0.05 > 0.8


def test_many_distinct_whole_numbers_are_counted_without_a_table_of_all_pairs() -> None:
    many = np.arange(50_000)
    assert plug_in_entropy(many) == pytest.approx(np.log(50_000))


def test_hard_concepts_give_the_same_in_blocks_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    from theodolite.metrics.leak_free import _terms  # noqa: PLC0415

    random = np.random.default_rng(0)
    truth = random.random((60, 5)) < 0.5
    values = (truth ^ (random.random(truth.shape) < 0.2)).astype(float)
    whole = interconcept_leakage_given_concepts(values, truth, over="pairs")
    monkeypatch.setattr(_terms, "BLOCK_BYTES", 8 * 60 * 3)
    assert (interconcept_leakage_given_concepts(values, truth, over="pairs") == whole).all()
