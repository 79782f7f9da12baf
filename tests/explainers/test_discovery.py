"""Concept discovery: what all methods promise, and what each finds where the answer is known."""

import sys
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles

from theodolite.errors import EvidenceError
from theodolite.explainers.discovery._self_representation import self_representation
from theodolite.explainers.discovery.concept_shap import ConceptShap
from theodolite.explainers.discovery.kmeans import KMeansConcepts
from theodolite.explainers.discovery.mcd import SubspaceConcepts
from theodolite.explainers.discovery.methods import METHODS
from theodolite.explainers.discovery.nmf import NmfConcepts, non_negative_codes
from theodolite.explainers.discovery.pca import PcaConcepts
from theodolite.explainers.discovery.protocol import Discovery, compute_offset
from theodolite.explainers.discovery.random_directions import RandomConcepts
from theodolite.explainers.discovery.sae import SparseAutoencoder
from theodolite.explainers.discovery.svd import SvdConcepts

torch_there = pytest.mark.skipif(find_spec("torch") is None, reason="torch is an extra")
overcomplete_there = pytest.mark.skipif(
    find_spec("overcomplete") is None, reason="the package overcomplete is an extra"
)
NEEDS = {"concept_shap": torch_there, "sae": overcomplete_there}
every_method = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=NEEDS.get(name, ())) for name in METHODS]
)


def embeddings_of_parts(n: int = 60, dimensions: int = 12, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed)
    return drawn.gamma(0.5, size=(n, 6)) @ drawn.random((6, dimensions)) ** 3


def settings(name: str, embeddings: np.ndarray, n_concepts: int = 4) -> Discovery:
    more: dict[str, Any] = {}
    if name == "concept_shap":
        labels = np.arange(len(embeddings)) % 3
        head = np.random.default_rng(1).normal(size=(3, embeddings.shape[1]))
        more = {"head": head, "bias": np.zeros(3), "labels": labels, "hidden": 8, "epochs": 2}
    if name == "sae":
        more = {"active": min(2, n_concepts), "epochs": 2}
    return METHODS[name](n_concepts=n_concepts, **more)


def closest(planted: np.ndarray, found: np.ndarray) -> np.ndarray:
    """For each planted direction the largest cosine, without sign, with a direction found."""
    unit = planted / np.linalg.norm(planted, axis=1, keepdims=True)
    return np.abs(unit @ found.T).max(axis=1)


@every_method
def test_a_seed_gives_the_same_bytes_and_changes_nothing_given(name: str) -> None:
    embeddings = embeddings_of_parts()
    before = embeddings.copy()
    unfitted = settings(name, embeddings)
    one, two = unfitted.fit(embeddings, seed=3), unfitted.fit(embeddings, seed=3)
    assert type(one) is type(unfitted)
    assert one.dictionary().tobytes() == two.dictionary().tobytes()
    assert one.encode(embeddings).tobytes() == two.encode(embeddings).tobytes()
    codes = one.encode(embeddings)
    assert one.decode(codes).tobytes() == two.decode(codes).tobytes()
    assert_array_equal(embeddings, before)
    assert not one.dictionary().flags.writeable
    with pytest.raises(EvidenceError, match="Use what `fit` returns"):
        unfitted.encode(embeddings)
    with pytest.raises(EvidenceError, match="not fitted"):
        unfitted.decode(codes)


@every_method
def test_random_states_of_others_are_left_alone(name: str) -> None:
    embeddings = embeddings_of_parts()
    method = settings(name, embeddings)
    legacy = np.random.get_state()[1].copy()  # noqa: NPY002
    torch = pytest.importorskip("torch") if name in NEEDS else None
    torch_before = torch.get_rng_state() if torch else None
    method.fit(embeddings, seed=0).encode(embeddings)
    assert_array_equal(np.random.get_state()[1], legacy)  # noqa: NPY002
    if torch:
        assert torch.equal(torch.get_rng_state(), torch_before)


@pytest.mark.parametrize("name", ["random", pytest.param("sae", marks=overcomplete_there)])
def test_another_seed_may_give_others(name: str) -> None:
    embeddings = embeddings_of_parts()
    one, two = (settings(name, embeddings).fit(embeddings, seed=s).dictionary() for s in (0, 1))
    assert not np.allclose(one, two)


@every_method
def test_directions_have_length_one_and_decoding_adds_them_up(name: str) -> None:
    embeddings = embeddings_of_parts().astype(np.float32)
    result = settings(name, embeddings).fit(embeddings, seed=0)
    dictionary = result.dictionary()
    assert_allclose(np.linalg.norm(dictionary, axis=1), 1, atol=1e-12)
    codes = result.encode(embeddings[:7])
    assert codes.shape == (7, len(dictionary)) and codes.dtype == np.float64
    assert result.decode(codes).shape == (7, 12)
    assert result.encode(embeddings[:0]).shape == (0, len(dictionary))
    if name != "concept_shap":
        assert_allclose(
            result.decode(codes), codes @ dictionary + compute_offset(result), atol=1e-12
        )
        assert bool(np.any(compute_offset(result))) == (name == "pca")
    if name != "mcd":
        assert len(dictionary) == 4


@every_method
def test_what_cannot_be_used_is_refused(name: str) -> None:
    embeddings = embeddings_of_parts()
    with pytest.raises(EvidenceError, match=r"n_concepts: got 0|active: got 0"):
        settings(name, embeddings, n_concepts=0).fit(embeddings, seed=0)
    if name != "random":
        with pytest.raises(EvidenceError, match=r"got 3 samples; needed at least . to find 4"):
            settings(name, embeddings[:3]).fit(embeddings[:3], seed=0)
    broken = embeddings.copy()
    broken[[1, 4], 2] = np.nan, np.inf
    with pytest.raises(EvidenceError, match="NaN or infinity in 2 samples"):
        settings(name, broken).fit(broken, seed=0)
    result = settings(name, embeddings).fit(embeddings, seed=0)
    with pytest.raises(EvidenceError, match="NaN or infinity in 2 samples"):
        result.encode(broken)
    with pytest.raises(EvidenceError, match="11 dimensions; needed 12"):
        result.encode(embeddings[:, :11])


def orthogonal_cloud() -> tuple[np.ndarray, np.ndarray]:
    """Directions of distinct variance, with a mean along the last of them."""
    drawn = np.random.default_rng(0)
    directions = np.linalg.qr(drawn.normal(size=(20, 3)))[0].T
    codes = drawn.normal(size=(400, 3)) * [9, 6, 3]
    codes -= codes.mean(axis=0)
    return directions, codes @ directions + 0.1 * drawn.normal(size=(400, 20))


def test_svd_finds_orthogonal_directions_in_order() -> None:
    directions, embeddings = orthogonal_cloud()
    result = SvdConcepts(3).fit(embeddings, seed=0)
    assert (np.abs(np.diag(result.dictionary() @ directions.T)) > 0.99).all()
    assert (result.encode(embeddings).mean(axis=0) >= 0).all()
    assert_allclose(result.encode(embeddings), embeddings @ result.dictionary().T)
    shifted = embeddings + 100 * directions[2]
    first = SvdConcepts(1).fit(shifted, seed=0)
    assert first.dictionary()[0] @ directions[2] > 0.99  # not centered: the mean is the strongest


def test_svd_and_pca_refuse_directions_that_are_not_there() -> None:
    plane = np.random.default_rng(0).normal(size=(30, 2)) @ np.eye(2, 10) + 5 * np.eye(10)[9]
    assert len(PcaConcepts(2).fit(plane, seed=0).dictionary()) == 2
    assert len(SvdConcepts(3).fit(plane, seed=0).dictionary()) == 3
    with pytest.raises(EvidenceError, match="got 2 independent directions; needed at least 3"):
        PcaConcepts(3).fit(plane, seed=0)
    with pytest.raises(EvidenceError, match="got 3 independent directions; needed at least 4"):
        SvdConcepts(4).fit(plane, seed=0)
    with pytest.raises(EvidenceError, match="got 0 independent"):
        PcaConcepts(1).fit(np.ones((5, 3)), seed=0)


def test_pca_finds_what_varies_and_reconstructs_as_scikit_learn() -> None:
    from sklearn.decomposition import PCA  # noqa: PLC0415

    directions, embeddings = orthogonal_cloud()
    shifted = embeddings + 100 * directions[2]
    result = PcaConcepts(3).fit(shifted, seed=0)
    assert (np.abs(np.diag(result.dictionary() @ directions.T)) > 0.99).all()
    peer = PCA(3, svd_solver="full").fit(shifted)
    expected = peer.inverse_transform(peer.transform(shifted))
    assert_allclose(result.decode(result.encode(shifted)), expected, atol=1e-9)
    assert_allclose(result.encode(2 * shifted), 2 * result.encode(shifted))
    assert (result.encode(shifted).mean(axis=0) >= 0).all()


def pure_and_mixed() -> tuple[np.ndarray, np.ndarray]:
    """Sums of non-negative parts; some samples hold one part alone."""
    drawn = np.random.default_rng(0)
    parts = drawn.random((4, 30)) * (drawn.random((4, 30)) < 0.4)
    codes = np.concatenate([np.repeat(np.eye(4), 10, axis=0), drawn.dirichlet(np.ones(4), 80)])
    return parts, codes * drawn.uniform(1, 3, size=(120, 1)) @ parts


def test_non_negative_parts_are_found() -> None:
    parts, embeddings = pure_and_mixed()
    result = NmfConcepts(4).fit(embeddings, seed=0)
    assert (closest(parts, result.dictionary()) > 0.95).all()
    assert (result.dictionary() >= 0).all() and (result.encode(embeddings) >= 0).all()
    error = result.decode(result.encode(embeddings)) - embeddings
    assert np.linalg.norm(error) < 0.05 * np.linalg.norm(embeddings)


def test_craft_writes_images_as_sums_of_what_it_found_in_patches() -> None:
    parts, _ = pure_and_mixed()
    drawn = np.random.default_rng(1)
    patches = np.repeat(parts, 20, axis=0) * drawn.uniform(1, 2, size=(80, 1))
    result = METHODS["craft"](n_concepts=4).fit(patches, seed=0)
    match = np.argmax(result.dictionary() @ parts.T, axis=0)
    codes = drawn.random((15, 4))
    written = result.encode(codes @ parts)[:, match] / np.linalg.norm(parts, axis=1)
    assert_allclose(written, codes, atol=0.05)


def naive_non_negative(embedding: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """The best of the least squares on every subset of the parts."""
    best, error = np.zeros(len(parts)), float(embedding @ embedding)
    for chosen in product([False, True], repeat=len(parts)):
        on = np.flatnonzero(chosen)
        if not len(on):
            continue
        codes = np.linalg.lstsq(parts[on].T, embedding, rcond=None)[0]
        beside = float(((codes @ parts[on] - embedding) ** 2).sum())
        if (codes >= 0).all() and beside < error - 1e-12:
            best, error = np.zeros(len(parts)), beside
            best[on] = codes
    return best


def test_non_negative_codes_are_the_best_and_where_scikit_learn_goes() -> None:
    from sklearn.decomposition import NMF  # noqa: PLC0415

    embeddings = embeddings_of_parts()
    result = NmfConcepts(4).fit(embeddings, seed=0)
    other = np.random.default_rng(9).random((40, 12)) ** 2
    codes = result.encode(other)
    assert (codes == 0).any() and (codes > 0).any()
    for row, code in zip(other, codes, strict=True):
        assert_allclose(code, naive_non_negative(row, result.dictionary()), atol=1e-9)
    peer = NMF(4, max_iter=100_000, tol=1e-14)
    peer.components_, peer.n_components_, peer.n_features_in_ = result.dictionary().copy(), 4, 12
    peer._n_components, peer._beta_loss = 4, 2
    assert_allclose(peer.transform(other), codes, atol=1e-5)


def test_more_parts_than_dimensions_still_fit_exactly() -> None:
    parts = np.array([[1.0, 0], [0.6, 0.8], [0, 1.0]])
    embeddings = np.array([[2.0, 1.0], [0.0, 0.0]])
    assert_allclose(non_negative_codes(embeddings, parts) @ parts, embeddings, atol=1e-12)
    assert len(NmfConcepts(3).fit(np.ones((5, 2)) + np.eye(5, 2), seed=0).dictionary()) == 3


def test_non_negative_methods_refuse_negative_embeddings_and_stop_quietly() -> None:
    embeddings = embeddings_of_parts()
    result = NmfConcepts(4, iterations=1).fit(embeddings, seed=0)
    with pytest.raises(EvidenceError, match="none below 0"):
        NmfConcepts(4).fit(embeddings - 1, seed=0)
    with pytest.raises(EvidenceError, match="none below 0"):
        result.encode(embeddings - 1)
    with pytest.raises(EvidenceError, match="concepts that are not empty; needed 3"):
        NmfConcepts(3).fit(np.zeros((5, 4)), seed=0)


def test_k_means_finds_centers_and_projects_on_their_span() -> None:
    drawn = np.random.default_rng(0)
    centers = drawn.normal(size=(4, 15)) * 10
    embeddings = np.repeat(centers, 30, axis=0) + drawn.normal(size=(120, 15))
    result = KMeansConcepts(4).fit(embeddings, seed=0)
    assert (closest(centers, result.dictionary()) > 0.99).all()
    basis = np.linalg.qr(result.dictionary().T)[0]
    projected = embeddings @ basis @ basis.T
    assert_allclose(result.decode(result.encode(embeddings)), projected, atol=1e-9)


def test_k_means_refuses_clusters_that_are_not_there() -> None:
    with pytest.raises(EvidenceError, match="got 2 different samples; needed at least 3"):
        KMeansConcepts(3).fit(np.repeat(np.eye(2, 4), 5, axis=0), seed=0)
    with pytest.raises(EvidenceError, match="1 concepts that are not empty"):
        KMeansConcepts(2).fit(np.repeat(np.eye(2, 4), 5, axis=0) - np.eye(4)[0], seed=0)


def test_random_directions_find_nothing() -> None:
    directions = np.linalg.qr(np.random.default_rng(1).normal(size=(1280, 20)))[0].T
    result = RandomConcepts(20).fit(directions, seed=0)
    assert closest(directions, result.dictionary()).max() < 0.2
    assert_allclose(result.encode(directions), directions @ result.dictionary().T)
    with pytest.raises(EvidenceError, match="got 0 samples; needed at least 1"):
        RandomConcepts(2).fit(directions[:0], seed=0)


def union_of_planes(n: int = 40) -> tuple[list[np.ndarray], np.ndarray]:
    """Three planes in 20 dimensions, one with more samples, one with fewer."""
    drawn = np.random.default_rng(0)
    bases = [np.linalg.qr(drawn.normal(size=(20, 2)))[0].T for _ in range(3)]
    sizes = (2 * n, n, n // 2)
    rows = [drawn.normal(size=(m, 2)) @ basis for m, basis in zip(sizes, bases, strict=True)]
    return bases, np.concatenate(rows)


def test_subspaces_are_found_in_noise() -> None:
    bases, embeddings = union_of_planes()
    noise = np.random.default_rng(1).normal(size=embeddings.shape) * 0.1 * np.sqrt(2 / 20)
    result = SubspaceConcepts(3, dimensions=2).fit(embeddings + noise, seed=0)
    for number, basis in enumerate(bases):
        angles = subspace_angles(basis.T, result.dictionary()[result.subspace == number].T)
        assert np.cos(angles).min() > 0.95


@pytest.mark.parametrize("centered", [True, False])
def test_subspaces_are_found(centered: bool) -> None:
    bases, embeddings = union_of_planes()
    result = SubspaceConcepts(3, centered=centered, explained=0.999).fit(embeddings, seed=0)
    assert result.subspace is not None
    assert_array_equal(result.subspace, [0, 0, 1, 1, 2, 2])
    for number, basis in enumerate(bases):
        angles = subspace_angles(basis.T, result.dictionary()[result.subspace == number].T)
        assert np.cos(angles).min() > 0.99
    assert_allclose(result.decode(result.encode(embeddings)), embeddings, atol=1e-9)
    beside = np.linalg.svd(np.concatenate(bases))[2][-1]
    assert_allclose(result.encode(embeddings + 7 * beside), result.encode(embeddings), atol=1e-9)


def test_settings_of_subspaces() -> None:
    _, embeddings = union_of_planes()
    one = SubspaceConcepts(3, dimensions=1).fit(embeddings, seed=0)
    assert_array_equal(one.subspace, [0, 1, 2])
    capped = SubspaceConcepts(3, explained=1.0, most=1).fit(embeddings, seed=0)
    assert_array_equal(capped.subspace, [0, 1, 2])
    drawn = SubspaceConcepts(3, max_samples=60).fit(embeddings, seed=0)
    assert drawn.dictionary().shape[1] == 20
    assert not np.array_equal(
        drawn.dictionary(), SubspaceConcepts(3).fit(embeddings, seed=0).dictionary()
    )
    zeros = np.concatenate([embeddings, np.zeros((3, 20))])
    assert_array_equal(
        SubspaceConcepts(3, dimensions=1).fit(zeros, seed=0).dictionary(), one.dictionary()
    )
    with pytest.raises(EvidenceError, match="got 3 samples other than 0; needed more than 3"):
        SubspaceConcepts(3).fit(np.concatenate([np.eye(3), np.zeros((4, 3))]), seed=0)


def test_directions_that_depend_on_others_are_left_out() -> None:
    drawn = np.random.default_rng(0)
    line, plane = np.outer(drawn.normal(size=30), [1.0, 0, 0]), np.zeros((30, 3))
    plane[:, 1:] = drawn.normal(size=(30, 2))
    rows = np.concatenate([line, plane, drawn.normal(size=(4, 3))])
    result = SubspaceConcepts(3, dimensions=2).fit(rows, seed=0)
    assert result.dictionary().shape == (3, 3)
    assert np.linalg.matrix_rank(result.dictionary()) == 3
    assert_allclose(result.decode(result.encode(rows)), rows, atol=1e-9)
    with pytest.raises(EvidenceError, match="groups that do not vary"):
        SubspaceConcepts(2).fit(np.repeat(np.eye(2, 4), 3, axis=0), seed=0)


def test_self_representation_is_matching_pursuit_on_the_other_samples() -> None:
    from sklearn.linear_model import orthogonal_mp  # noqa: PLC0415

    rows = np.random.default_rng(0).normal(size=(25, 12))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    result = self_representation(rows, 4)
    for i, row in enumerate(rows):
        others = np.delete(rows, i, axis=0)
        expected = np.insert(orthogonal_mp(others.T, row, n_nonzero_coefs=4), i, 0.0)
        assert_allclose(result[i], expected, atol=1e-9)


def two_directions_decide(n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Embeddings, the head, the labels that it gives, and the two directions it reads."""
    drawn = np.random.default_rng(0)
    directions = np.linalg.qr(drawn.normal(size=(16, 2)))[0].T
    embeddings = drawn.normal(size=(n, 16))
    head = np.array([[1.0, 0], [-1.0, 0], [0, 1.0], [0, -1.0]]) @ directions * 3
    return embeddings, head, (embeddings @ head.T).argmax(axis=1), directions


@torch_there
def test_concept_shap_keeps_what_the_head_needs() -> None:
    embeddings, head, labels, directions = two_directions_decide()
    bias = np.zeros(4)
    method = ConceptShap(head, bias, labels, n_concepts=3, hidden=50, epochs=60, learning_rate=0.01)
    result = method.fit(embeddings, seed=0)
    said = result.decode(result.encode(embeddings)) @ head.T + bias
    assert (said.argmax(axis=1) == labels).mean() > 0.95
    # which directions it takes is free, but the two that decide are in their span
    basis = np.linalg.qr(result.dictionary().T)[0]
    assert (np.linalg.norm(directions @ basis, axis=1) > 0.9).all()
    untrained = ConceptShap(head, bias, labels, n_concepts=3, hidden=50, epochs=0)
    start = untrained.fit(embeddings, seed=0)
    assert ((start.decode(start.encode(embeddings)) @ head.T).argmax(axis=1) == labels).mean() < 0.6


@torch_there
def test_the_threshold_of_concept_shap() -> None:
    embeddings, head, labels, _ = two_directions_decide(60)
    method = ConceptShap(head, np.zeros(4), labels, n_concepts=5, hidden=8, epochs=1, beta=0.2)
    result = method.fit(embeddings, seed=0)
    codes, plain = result.encode(embeddings), embeddings @ result.dictionary().T
    cosine = plain / np.linalg.norm(embeddings, axis=1, keepdims=True)
    assert_array_equal(codes, np.where(cosine > 0.2, plain, 0))
    assert (codes == 0).any() and (codes > 0).any()


@torch_there
def test_concept_shap_refuses_labels_that_do_not_fit() -> None:
    embeddings, head, labels, _ = two_directions_decide(60)
    bias = np.zeros(4)
    with pytest.raises(EvidenceError, match=r"got shape \(60, 16\); needed \(59, 16\)"):
        ConceptShap(head, bias, labels[1:], n_concepts=2).fit(embeddings, seed=0)
    with pytest.raises(EvidenceError, match="needed 0 to 3"):
        ConceptShap(head, bias, labels + 2, n_concepts=2).fit(embeddings, seed=0)


def sparse_sums() -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(0)
    atoms = np.linalg.qr(drawn.normal(size=(24, 8)))[0].T
    chosen = np.argsort(drawn.random((1500, 8)), axis=1) < 2
    return atoms, (chosen * drawn.uniform(0.5, 1.5, size=chosen.shape)) @ atoms


@overcomplete_there
def test_the_sparse_autoencoder_finds_what_is_sparse() -> None:
    atoms, embeddings = sparse_sums()
    result = SparseAutoencoder(16, active=2, epochs=60, learning_rate=5e-3).fit(embeddings, seed=0)
    assert (closest(atoms, result.dictionary()) > 0.95).all()
    codes = result.encode(embeddings)
    assert (codes >= 0).all() and ((codes > 0).sum(axis=1) <= 2).all()
    error = result.decode(codes) - embeddings
    assert np.linalg.norm(error) < 0.2 * np.linalg.norm(embeddings)


@overcomplete_there
def test_the_sparse_autoencoder_is_the_one_that_was_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = pytest.importorskip("torch")
    from overcomplete import sae  # noqa: PLC0415

    kept = []
    train = sae.train_sae
    monkeypatch.setattr(
        sae,
        "train_sae",
        lambda model, *args, **more: (kept.append(model), train(model, *args, **more)),
    )
    embeddings = 50 * embeddings_of_parts()
    result = SparseAutoencoder(6, active=2, epochs=3).fit(embeddings, seed=0)
    unit = np.sqrt((embeddings**2).mean())
    with torch.no_grad():
        _, codes, made = kept[0](torch.tensor(embeddings / unit, dtype=torch.float32))
    assert_allclose(result.encode(embeddings), codes.numpy() * unit, rtol=1e-4, atol=1e-3)
    assert_allclose(
        result.decode(result.encode(embeddings)), made.numpy() * unit, rtol=1e-4, atol=1e-3
    )


def test_the_sparse_autoencoder_needs_as_many_concepts_as_are_active() -> None:
    with pytest.raises(EvidenceError, match="got 5; needed 1 to 4"):
        SparseAutoencoder(4, active=5)


@pytest.mark.parametrize(("name", "package"), [("concept_shap", "torch"), ("sae", "overcomplete")])
def test_a_missing_package_is_named(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "sae" and find_spec("torch") is None:
        pytest.skip("torch is an extra")
    embeddings = embeddings_of_parts()
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "overcomplete.sae", raising=False)
    with pytest.raises(EvidenceError, match=f"no {package}; needed it. Install it: pip install"):
        settings(name, embeddings).fit(embeddings, seed=0)
