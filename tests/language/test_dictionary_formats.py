"""Dictionaries of all formats encode and rebuild here as they do where they were made."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from safetensors.numpy import save_file

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.language.dictionaries.common_form import SparseDictionary
from theodolite.language.dictionaries.objects import dictionary as as_dictionary
from theodolite.language.dictionaries.reading import read_dictionary
from theodolite.language.dictionaries.torch_codes import DeviceDictionary, to_host

torch = pytest.importorskip("torch")
D, OUT, L = 6, 5, 16
RANDOM = np.random.default_rng(0)
HIDDEN = (RANDOM.normal(size=(40, D)) + 0.5).astype(np.float32)


@pytest.fixture(scope="module")
def saes() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        return pytest.importorskip("sae_lens.saes")


def filled(sae: Any) -> Any:
    """Random numbers in all parameters: a fresh autoencoder has zeros where it matters."""
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in sae.named_parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=random) * 0.5)
            if "threshold" in name:
                parameter.abs_()
    return sae.eval()


def check_same(ours: SparseDictionary, codes: np.ndarray, rebuilt: np.ndarray | None) -> None:
    """In NumPy and in torch; a wrong form differs in nearly every number."""
    theirs = np.asarray(codes, np.float64)
    assert 0 < (theirs > 0).mean() < 1
    own = DeviceDictionary(ours)
    hidden = torch.as_tensor(HIDDEN)
    top = own.largest(hidden)
    dense = np.zeros((len(HIDDEN), own.latents))
    np.put_along_axis(dense, to_host(top.indices), to_host(top.values), axis=1)
    for result in (dense, ours.encode(HIDDEN)):
        assert ((result > 0) == (theirs > 0)).all()
        assert (np.abs(result - theirs) <= 1e-5 * np.maximum(1, np.abs(theirs))).all()
    if rebuilt is not None:
        assert_allclose(to_host(own.rebuild(hidden, top)), rebuilt, rtol=1e-4, atol=1e-5)


KINDS = [
    ("StandardSAE", {}),
    ("StandardSAE", {"normalize_activations": "layer_norm"}),
    ("StandardSAE", {"normalize_activations": "constant_norm_rescale"}),
    ("TopKSAE", {"k": 3}),
    ("TopKSAE", {"k": 3, "rescale_acts_by_decoder_norm": True}),
    ("JumpReLUSAE", {}),
    ("GatedSAE", {}),
    ("Transcoder", {"d_out": OUT, "apply_b_dec_to_input": False}),
    ("SkipTranscoder", {"d_out": OUT, "apply_b_dec_to_input": False}),
    ("JumpReLUTranscoder", {"d_out": OUT, "apply_b_dec_to_input": False}),
    ("JumpReLUSkipTranscoder", {"d_out": OUT, "apply_b_dec_to_input": False}),
]


def made(saes: Any, kind: str, options: dict[str, Any]) -> Any:
    config = getattr(saes, f"{kind}Config", None) or getattr(saes.transcoder, f"{kind}Config")
    own = getattr(saes, kind, None) or getattr(saes.transcoder, kind)
    return filled(own(config(d_in=D, d_sae=L, **options)))


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_folders_and_objects_of_sae_lens(
    kind: str, options: dict[str, Any], saes: Any, tmp_path: Path
) -> None:
    sae = made(saes, kind, options)
    sae.save_model(tmp_path)
    hidden = torch.as_tensor(HIDDEN)
    with torch.no_grad():
        codes, rebuilt = to_host(sae.encode(hidden)), to_host(sae(hidden))
    result = read_dictionary(tmp_path)
    assert result.transcodes == ("Transcoder" in kind)
    check_same(result, codes, rebuilt)
    alive = as_dictionary(sae)
    top = alive.largest(hidden)
    assert_allclose(np.sort(to_host(top.values))[:, -1], codes.max(axis=1), rtol=1e-5)
    assert_allclose(to_host(alive.rebuild(hidden, top)), rebuilt, rtol=1e-4, atol=1e-5)
    assert (alive.latents, alive.dimensions, alive.rows.shape[1]) == (L, D, rebuilt.shape[1])


@pytest.mark.parametrize("rescaled", [True, False])
@pytest.mark.parametrize("kind", ["BatchTopK", "MatryoshkaBatchTopK"])
def test_checkpoints_of_training(kind: str, rescaled: bool, saes: Any, tmp_path: Path) -> None:
    widths = {"matryoshka_widths": [4, L]} if "Mat" in kind else {}
    options = {"k": 3, "rescale_acts_by_decoder_norm": rescaled, **widths}
    sae = made(saes, f"{kind}TrainingSAE", options)
    sae.topk_threshold = torch.tensor(0.7, dtype=torch.double)
    sae.save_model(tmp_path / "trained")
    sae.save_inference_model(tmp_path / "used")
    theirs = saes.sae.SAE.load_from_disk(tmp_path / "used")
    hidden = torch.as_tensor(HIDDEN)
    with torch.no_grad():
        codes, rebuilt = to_host(theirs.encode(hidden)), to_host(theirs(hidden))
    for folder in ("trained", "used"):
        check_same(read_dictionary(tmp_path / folder), codes, rebuilt)


def test_a_scale_that_was_not_folded(saes: Any, tmp_path: Path) -> None:
    sae = made(saes, "StandardSAE", {"normalize_activations": "expected_average_only_in"})
    sae.save_model(tmp_path)
    result = read_dictionary(tmp_path)
    assert result.needs_scale
    sae.fold_activation_norm_scaling_factor(1.7)
    hidden = torch.as_tensor(HIDDEN)
    with torch.no_grad():
        check_same(result.scaled(1.7), to_host(sae.encode(hidden)), to_host(sae(hidden)))


def arrays(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    return {name: random.normal(size=s).astype(np.float32) * 0.5 for name, s in shapes.items()}


def jumprelu(own: dict[str, np.ndarray]) -> np.ndarray:
    before = HIDDEN.astype(np.float64) @ own["W_enc"] + own["b_enc"]
    return np.where(before > own["threshold"], before.clip(0), 0.0)


def test_gemma_scope(tmp_path: Path) -> None:
    own = arrays(W_enc=(D, L), W_dec=(L, D), b_enc=(L,), b_dec=(D,), threshold=(L,))
    own["threshold"] = np.abs(own["threshold"])
    folder = tmp_path / "layer_12" / "width_16k" / "average_l0_82"
    folder.mkdir(parents=True)
    np.savez(folder / "params.npz", **own)
    result = read_dictionary(folder)
    check_same(result, jumprelu(own), jumprelu(own) @ own["W_dec"] + own["b_dec"])
    assert result.place.hook == "blocks.12.hook_resid_post"


def test_gemma_scope_2_in_bfloat16(tmp_path: Path) -> None:
    own = arrays(W_enc=(D, L), W_dec=(L, OUT), b_enc=(L,), b_dec=(OUT,), threshold=(L,))
    skip = arrays(affine_skip_connection=(D, OUT))
    own["threshold"] = np.abs(own["threshold"])
    names = {n: f"w_{n[2:]}" if n.startswith("W_") else n for n in own}
    halves = {names.get(n, n): torch.as_tensor(a).bfloat16() for n, a in {**own, **skip}.items()}
    folder = tmp_path / "transcoder" / "layer_3_width_16k"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"architecture": "jump_relu"}')
    from safetensors.torch import save_file as save  # noqa: PLC0415

    save(halves, folder / "params.safetensors")
    own = {n: halves[names[n]].float().numpy() for n in own}
    skipped = HIDDEN @ halves["affine_skip_connection"].float().numpy()
    result = read_dictionary(folder)
    check_same(result, jumprelu(own), jumprelu(own) @ own["W_dec"] + own["b_dec"] + skipped)
    assert result.place.hook_out == "blocks.3.hook_mlp_out"


def topk(before: np.ndarray, k: int) -> np.ndarray:
    kept = np.zeros_like(before)
    largest = np.argsort(-before, axis=1)[:, :k]
    np.put_along_axis(kept, largest, np.take_along_axis(before, largest, 1), 1)
    return kept.clip(0)


@pytest.mark.parametrize("transcode", [True, False])
def test_sparsify(transcode: bool, tmp_path: Path) -> None:
    names = {"encoder.weight": (L, D), "encoder.bias": (L,), "W_dec": (L, D), "b_dec": (D,)}
    own = arrays(**names)
    folder = tmp_path / "layers.5"
    folder.mkdir()
    save_file(own, folder / "sae.safetensors")
    (folder / "cfg.json").write_text(json.dumps({"k": 3, "transcode": transcode}))
    inside = HIDDEN.astype(np.float64) - (0 if transcode else own["b_dec"])
    codes = topk(inside @ own["encoder.weight"].T + own["encoder.bias"], 3)
    result = read_dictionary(folder)
    check_same(result, codes, codes @ own["W_dec"] + own["b_dec"])
    assert result.place.hook == "layers.5" and result.transcodes == transcode


def test_circuit_tracer(tmp_path: Path) -> None:
    own = arrays(W_enc=(L, D), W_dec=(L, D), b_enc=(L,), b_dec=(D,), W_skip=(D, D))
    (tmp_path / "config.yaml").write_text(
        "model_name: google/gemma-2-2b\nfeature_input_hook: mlp.hook_in\n"
        "feature_output_hook: hook_mlp_out\n"
    )
    codes = (HIDDEN.astype(np.float64) @ own["W_enc"].T + own["b_enc"]).clip(0)
    rebuilt = codes @ own["W_dec"] + own["b_dec"] + HIDDEN @ own["W_skip"].T
    for turned in (False, True):
        rows = own["W_dec"].T if turned else own["W_dec"]
        save_file({**own, "W_dec": np.ascontiguousarray(rows)}, tmp_path / "layer_7.safetensors")
        result = read_dictionary(tmp_path / "layer_7.safetensors")
        check_same(result, codes, rebuilt)
        assert result.place.hook == "blocks.7.mlp.hook_in"


def saved_by_trainer(folder: Path, kind: str, own: dict[str, np.ndarray], **more: Any) -> Path:
    tensors = {name: torch.as_tensor(array) for name, array in own.items()}
    folder.mkdir(exist_ok=True)
    torch.save(tensors | {n: torch.tensor(v) for n, v in more.items()}, folder / "ae.pt")
    about = {"dict_class": kind, "layer": 3, "lm_name": "EleutherAI/pythia-70m",
             "submodule_name": "resid_post_layer_3"}  # fmt: skip
    (folder / "config.json").write_text(json.dumps({"trainer": about}))
    return folder


def test_dictionary_learning(tmp_path: Path) -> None:
    names = {"encoder.weight": (L, D), "encoder.bias": (L,), "decoder.weight": (D, L)}
    own = arrays(**names, b_dec=(D,))
    inside = HIDDEN.astype(np.float64) - own["b_dec"]
    before = inside @ own["encoder.weight"].T + own["encoder.bias"]
    for kind, more, codes in (
        ("AutoEncoderTopK", {"k": 3}, topk(before, 3)),
        ("BatchTopKSAE", {"k": 3, "threshold": 0.4}, np.where(before > 0.4, before, 0.0)),
    ):
        result = read_dictionary(saved_by_trainer(tmp_path / kind, kind, own, **more))
        check_same(result, codes, codes @ own["decoder.weight"].T + own["b_dec"])
        assert result.place.hook == "blocks.3.hook_resid_post"
    plain = {("bias" if name == "b_dec" else name): array for name, array in own.items()}
    result = read_dictionary(saved_by_trainer(tmp_path / "plain", "AutoEncoder", plain))
    check_same(result, before.clip(0), None)
    with pytest.raises(UnsafeInputError, match="none that was set in training"):
        read_dictionary(saved_by_trainer(tmp_path / "b", "BatchTopKSAE", own, k=3, threshold=-1.0))


class Code:
    """What a pickle could run."""

    def __reduce__(self) -> Any:
        return (print, ("run",))


def spoiled(folder: Path, number: int) -> Path:
    """A SAELens folder with one thing wrong."""
    folder.mkdir()
    own: dict[str, Any] = arrays(W_enc=(D, L), W_dec=(L, D), b_enc=(L,), b_dec=(D,))
    cfg: Any = {"architecture": "standard"}
    wrong: list[dict[str, Any]] = [
        {"W_enc": own["W_dec"]}, {"W_dec": own["W_enc"]}, {"b_enc": own["b_dec"]},
        {"b_dec": own["b_enc"]}, {"W_enc": np.full((D, L), np.nan, "f4")},
        {"W_dec": np.full((L, D), np.inf, "f4")}, {"W_enc": own["b_enc"]}, {"W_enc": None},
        {"W_dec": None}, {"b_enc": None}, {"b_dec": None}, {"W_dec": own["W_dec"][:, :3]},
    ]  # fmt: skip
    settings: list[Any] = [
        [], "topk", {"architecture": "topk"}, {"architecture": "topk", "k": 0},
        {"architecture": "topk", "k": L + 1}, {"architecture": "topk", "k": True},
        {"architecture": "topk", "k": "3"}, {"architecture": "jumprelu"},
        {"architecture": "gated"}, {"architecture": "batchtopk"}, {"architecture": 3},
        {"architecture": "abstopk"}, {"architecture": "temporal"},
        {"architecture": "skip_transcoder"}, {"activation_fn_str": "tanh-relu"},
        {"normalize_activations": "covariance_whitening"}, {"normalize_activations": ["none"]},
    ]  # fmt: skip
    if number < len(wrong):
        own = {
            n: np.ascontiguousarray(a) for n, a in {**own, **wrong[number]}.items() if a is not None
        }
    elif number < len(wrong) + len(settings):
        cfg = settings[number - len(wrong)]
    save_file(own, folder / "sae_weights.safetensors")
    (folder / "cfg.json").write_text(json.dumps(cfg))
    content = (folder / "sae_weights.safetensors").read_bytes()
    if number == 29:
        (folder / "sae_weights.safetensors").write_bytes(content[:-8])
    elif number == 30:
        (folder / "sae_weights.safetensors").write_bytes(b"\xff" * 8 + content[8:])
    elif number == 31:
        (folder / "cfg.json").write_text("{")
    elif number == 32:
        (folder / "sae_weights.safetensors").rename(folder / "other.safetensors")
    elif number == 33:
        header = b'{"W_enc":{"dtype":"BF16","shape":[9,9],"data_offsets":[0,8]}}'
        lead = len(header).to_bytes(8, "little")
        (folder / "sae_weights.safetensors").write_bytes(lead + header + b"\0" * 8)
    return folder


@pytest.mark.parametrize("number", range(34))
def test_malformed_files_are_refused(number: int, tmp_path: Path) -> None:
    with pytest.raises(EvidenceError):
        read_dictionary(spoiled(tmp_path / "sae", number))


def test_pickles_run_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"a": Code()}, tmp_path / "ae.pt")
    about = {"trainer": {"dict_class": "AutoEncoder"}}
    (tmp_path / "config.json").write_text(json.dumps(about))
    with pytest.raises(UnsafeInputError, match="tensors only"):
        read_dictionary(tmp_path)
    assert "run" not in capsys.readouterr().out


def test_objects_that_are_no_dictionaries() -> None:
    class Own:
        rows = np.eye(D)

        def encode(self, activations: np.ndarray) -> np.ndarray:
            return activations @ self.rows

        def decode(self, codes: np.ndarray) -> np.ndarray:
            return codes @ self.rows.T

    with pytest.raises(EvidenceError, match="codes below 0"):
        as_dictionary(Own())
    with pytest.raises(EvidenceError, match="no encode"):
        as_dictionary(object())
    Own.encode = lambda self, activations: np.full((2, 2), np.nan)  # type: ignore[method-assign]
    with pytest.raises(EvidenceError, match="finite"):
        as_dictionary(Own())
