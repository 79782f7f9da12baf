"""Dictionaries of SAELens and overcomplete encode here as they do there."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import theodolite
from theodolite.bridges.sae_lens import (
    feature_maps,
    from_overcomplete,
    read_sae_lens,
    surrogate_evidence,
)
from theodolite.errors import EvidenceError, UnsafeInputError

torch = pytest.importorskip("torch")
D, F = 6, 16


@pytest.fixture(scope="module")
def saes() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        return pytest.importorskip("sae_lens.saes")


@pytest.fixture
def activations() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(40, D)).astype(np.float32) + 0.5


def _filled(sae: Any, seed: int = 0) -> Any:
    """Random numbers in all parameters: a fresh autoencoder has zeros where it matters."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in sae.named_parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=random) * 0.5)
            if name == "threshold":
                parameter.abs_()
    return sae.eval()


MADE = [
    ("StandardSAE", "StandardSAEConfig", {}),
    ("StandardSAE", "StandardSAEConfig", {"apply_b_dec_to_input": False}),
    ("StandardSAE", "StandardSAEConfig", {"normalize_activations": "layer_norm"}),
    ("StandardSAE", "StandardSAEConfig", {"normalize_activations": "constant_norm_rescale"}),
    ("TopKSAE", "TopKSAEConfig", {"k": 3}),
    ("TopKSAE", "TopKSAEConfig", {"k": 3, "rescale_acts_by_decoder_norm": True}),
    ("JumpReLUSAE", "JumpReLUSAEConfig", {}),
    ("GatedSAE", "GatedSAEConfig", {}),
]


@pytest.mark.parametrize(("kind", "config", "options"), MADE)
def test_codes_are_those_of_sae_lens(
    kind: str, config: str, options: dict[str, Any], saes: Any, activations: np.ndarray,
    tmp_path: Path,
) -> None:  # fmt: skip
    sae = _filled(getattr(saes, kind)(getattr(saes, config)(d_in=D, d_sae=F, **options)))
    sae.save_model(tmp_path)
    before = activations.copy()
    result = read_sae_lens(tmp_path)
    with torch.no_grad():
        theirs = sae.encode(torch.from_numpy(activations))
        rebuilt = sae.decode(theirs).numpy()
    codes = result.encode(torch.from_numpy(activations).requires_grad_())
    np.testing.assert_allclose(codes, theirs.numpy(), atol=1e-5)
    assert 0 < (codes > 0).mean() < 1
    if not result.normalized:
        np.testing.assert_allclose(result.decode(codes), rebuilt, atol=1e-4)
    assert result.normalized == ("normalize_activations" in options)
    np.testing.assert_array_equal(activations, before)


@pytest.mark.parametrize(
    ("kind", "config", "options"),
    [
        ("StandardTrainingSAE", "StandardTrainingSAEConfig", {}),
        ("TopKTrainingSAE", "TopKTrainingSAEConfig", {"k": 3}),
        ("BatchTopKTrainingSAE", "BatchTopKTrainingSAEConfig", {"k": 3}),
        ("JumpReLUTrainingSAE", "JumpReLUTrainingSAEConfig", {}),
        ("GatedTrainingSAE", "GatedTrainingSAEConfig", {}),
    ],
)
def test_what_training_saves_for_use_is_read(
    kind: str, config: str, options: dict[str, Any], saes: Any, activations: np.ndarray,
    tmp_path: Path,
) -> None:  # fmt: skip
    sae = _filled(getattr(saes, kind)(getattr(saes, config)(d_in=D, d_sae=F, **options)))
    sae.save_inference_model(tmp_path)
    theirs = saes.sae.SAE.load_from_disk(tmp_path)
    with torch.no_grad():
        codes = theirs.encode(torch.from_numpy(activations)).numpy()
    np.testing.assert_allclose(read_sae_lens(tmp_path).encode(activations), codes, atol=1e-5)


def _folder(path: Path, **about: Any) -> Path:
    random = np.random.default_rng(0)
    arrays = {
        "W_enc": random.normal(size=(D, F)), "W_dec": random.normal(size=(F, D)),
        "b_enc": random.normal(size=F), "b_dec": random.normal(size=D),
    }  # fmt: skip
    path.mkdir(exist_ok=True)
    save_file(
        {k: v.astype(np.float32) for k, v in arrays.items()}, path / "sae_weights.safetensors"
    )
    (path / "cfg.json").write_text(json.dumps({"architecture": "standard", **about}))
    return path


@pytest.mark.parametrize(
    "about",
    [
        {"architecture": "batchtopk"},  # without its threshold
        {"architecture": "temporal"},
        {"normalize_activations": "covariance_whitening"},
        {"architecture": ["standard"]},
        {"normalize_activations": {"how": "none"}},
        {"architecture": "jumprelu"},  # without its thresholds
        {"architecture": "topk"},  # without its k
        {"architecture": "topk", "k": 17},
        {"activation_fn_str": "tanh-relu"},
        {"normalize_activations": "expected_average_only_in"},
    ],
)
def test_what_is_not_known_is_refused(about: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(EvidenceError):
        read_sae_lens(_folder(tmp_path, **about))


@pytest.mark.parametrize("name", ["scaling_factor", "finetuning_scaling_factor"])
def test_features_scaled_after_training_are_refused(name: str, tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    arrays = load_file(folder / "sae_weights.safetensors")
    save_file({**arrays, name: np.ones(F, "f4")}, folder / "sae_weights.safetensors")
    read_sae_lens(folder)
    save_file({**arrays, name: np.full(F, 1.5, "f4")}, folder / "sae_weights.safetensors")
    with pytest.raises(EvidenceError, match="scaled after training"):
        read_sae_lens(folder)


def test_frozen_parts_of_an_object_stay_frozen() -> None:
    class Own(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.frozen = torch.nn.Linear(D, F).eval()

        def get_dictionary(self) -> Any:
            return torch.ones(F, D)

        def encode(self, given: Any) -> Any:
            return self.frozen(given)

        decode = encode

    model = Own()
    assert model.training and not model.frozen.training
    from_overcomplete(model).encode(np.ones((2, D)))
    assert model.training and not model.frozen.training


def test_broken_folders_are_refused(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    arrays = load_file(folder / "sae_weights.safetensors")
    save_file({**arrays, "b_enc": arrays["b_dec"]}, folder / "sae_weights.safetensors")
    with pytest.raises(UnsafeInputError, match="b_enc"):
        read_sae_lens(folder)
    (folder / "cfg.json").write_text("[]")
    with pytest.raises(UnsafeInputError):
        read_sae_lens(folder)
    with pytest.raises(EvidenceError):
        read_sae_lens(tmp_path / "nothing")


def test_a_perfect_dictionary_makes_up_the_output(tmp_path: Path) -> None:
    """Directions and their opposites: nothing is lost, so the surrogate is the network."""
    eye = np.concatenate([np.eye(D), -np.eye(D)]).astype(np.float32)
    arrays = {
        "W_enc": np.ascontiguousarray(eye.T), "W_dec": eye,
        "b_enc": np.zeros(2 * D, "f4"), "b_dec": np.full(D, 0.25, "f4"),
    }  # fmt: skip
    save_file(arrays, tmp_path / "sae_weights.safetensors")
    (tmp_path / "cfg.json").write_text(json.dumps({"architecture": "standard"}))
    random = np.random.default_rng(0)
    seen, head, bias = random.normal(size=(50, D)), random.normal(size=(3, D)), np.arange(3.0)
    evidence = surrogate_evidence(
        read_sae_lens(tmp_path), embeddings=seen, head=torch.from_numpy(head), bias=bias,
        labels=torch.zeros(50),
    )  # fmt: skip
    outputs = seen @ head.T + bias
    made_up = evidence.projections @ evidence.importances + evidence.constant + bias
    np.testing.assert_allclose(made_up, outputs, atol=1e-6)
    np.testing.assert_allclose(evidence.rebuilt, outputs, atol=1e-6)
    folder = _folder(tmp_path / "other", normalize_activations="layer_norm")
    with pytest.raises(EvidenceError, match="linear"):
        surrogate_evidence(read_sae_lens(folder), embeddings=seen, head=head)


def test_a_planted_feature_is_named_by_dissection(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    labels = (random.random((12, 8, 8)) < 0.3).astype(int)
    maps = random.normal(size=(12, D, 8, 8)) * 0.01
    maps[:, 2] += labels
    arrays = {
        "W_enc": np.eye(D, dtype="f4"), "W_dec": np.eye(D, dtype="f4"),
        "b_enc": np.zeros(D, "f4"), "b_dec": np.zeros(D, "f4"),
    }  # fmt: skip
    save_file(arrays, tmp_path / "sae_weights.safetensors")
    (tmp_path / "cfg.json").write_text(json.dumps({"architecture": "standard"}))
    features = feature_maps(read_sae_lens(tmp_path), maps)
    np.testing.assert_allclose(features, np.maximum(maps, 0), atol=1e-7)
    result = theodolite.dissect(features, list(labels), ["stripe"], quantile=0.7)
    share = result.evidence.shared_pixels.sum(0) / (
        result.evidence.unit_pixels + result.evidence.formula_pixels - result.evidence.shared_pixels
    ).sum(0)
    assert share.argmax() == 2 and share[2] > 0.9 > 0.5 > np.delete(share, 2).max()


@pytest.mark.parametrize("kind", ["TopKSAE", "NMF"])
def test_codes_are_those_of_overcomplete(kind: str, activations: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        sae = pytest.importorskip("overcomplete.sae")
        optimization = pytest.importorskip("overcomplete.optimization")
    given = torch.from_numpy(np.abs(activations))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if kind == "TopKSAE":
            model: Any = sae.TopKSAE(D, nb_concepts=F, top_k=3).train()
        else:
            model = optimization.NMF(nb_concepts=4)
            model.fit(given, max_iter=20)
    result = from_overcomplete(model)
    rows = result.rows
    if kind == "TopKSAE":
        codes = result.encode(given)
        assert model.training  # as it was
        with torch.no_grad():
            np.testing.assert_allclose(codes, model.eval().encode(given)[1].numpy(), atol=1e-6)
        assert ((codes > 0).sum(axis=1) <= 3).all()
        np.testing.assert_allclose(result.decode(codes), codes @ rows, atol=1e-5)
    else:
        codes = result.encode(given)
        assert codes.shape == (40, 4) and (codes >= 0).all()
        np.testing.assert_allclose(result.decode(codes), codes @ rows, atol=1e-5)
        unit = np.linalg.norm(codes @ rows - given.numpy()) / np.linalg.norm(given.numpy())
        assert unit < 0.6
