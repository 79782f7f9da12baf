"""Networks of a few thousand random numbers, in the files that their libraries write."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

torch = pytest.importorskip("torch")

WORDS = ("a", "photo", "of", "cat", "dog", "big", "bird", "church", "red", "small")
SMALL = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
}  # fmt: skip
EYE = {**SMALL, "image_size": 32, "patch_size": 8}
MEAN, SPREAD = (0.25, 0.5, 0.75), (0.5, 0.25, 0.5)


def a_batch(n: int, side: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 3, side, side)).astype(np.float32)


def tiny_tokenizer(folder: Path) -> Any:
    """Words, with a start and an end, saved for transformers."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    unknown = {"unk_token": "<unk>"}
    marks = {**unknown, "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    names = ("<pad>", "<s>", "</s>", "<unk>", *WORDS)
    result = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({w: k for k, w in enumerate(names)}, **unknown)
    )
    result.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    result.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=result, model_max_length=16, **marks
    )
    fast.save_pretrained(folder)
    return fast


def _spread_out(network: Any) -> Any:
    """Larger random numbers: a network fresh from the library hardly tells its inputs apart."""
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weights in network.parameters():
            if weights.ndim > 1:
                weights.copy_(torch.randn(weights.shape, generator=random) * 0.3)
    return network.eval()


def _processor(kind: str, folder: Path, **options: Any) -> None:
    transformers = pytest.importorskip("transformers")
    getattr(transformers, kind)(**options).save_pretrained(folder)


def tiny_transformers_vit(folder: Path, classes: Sequence[str]) -> Callable[[np.ndarray], Any]:
    transformers = pytest.importorskip("transformers")
    about = transformers.ViTConfig(**EYE, id2label=dict(enumerate(classes)))
    network = _spread_out(transformers.ViTForImageClassification(about))
    network.save_pretrained(folder)
    _processor("ViTImageProcessor", folder, size={"height": 32, "width": 32})
    return _logits(network)


def tiny_transformers_resnet(folder: Path) -> Callable[[np.ndarray], Any]:
    transformers = pytest.importorskip("transformers")
    about = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=3
    )
    network = _spread_out(transformers.ResNetForImageClassification(about))
    network.save_pretrained(folder)
    _processor("ConvNextImageProcessor", folder, size={"shortest_edge": 32})
    return _logits(network)


def tiny_clip(folder: Path) -> Callable[[np.ndarray, Sequence[str]], Any]:
    transformers = pytest.importorskip("transformers")
    tokens = tiny_tokenizer(folder)
    text = {**SMALL, "vocab_size": 14, "max_position_embeddings": 16, "bos_token_id": 1,
            "eos_token_id": 2, "pad_token_id": 0}  # fmt: skip
    about = transformers.CLIPConfig(text_config=text, vision_config=EYE, projection_dim=12)
    network = _spread_out(transformers.CLIPModel(about))
    network.save_pretrained(folder)
    _processor(
        "CLIPImageProcessor", folder, size={"shortest_edge": 32},
        crop_size={"height": 32, "width": 32}, image_mean=MEAN, image_std=SPREAD,
    )  # fmt: skip
    return _pairs(network, tokens, padding=True)


def tiny_siglip(folder: Path) -> Callable[[np.ndarray, Sequence[str]], Any]:
    transformers = pytest.importorskip("transformers")
    tokens = tiny_tokenizer(folder)
    text = {**SMALL, "vocab_size": 14, "max_position_embeddings": 16, "bos_token_id": 1,
            "eos_token_id": 2, "pad_token_id": 0, "projection_size": 16}  # fmt: skip
    about = transformers.SiglipConfig(text_config=text, vision_config=EYE)
    network = _spread_out(transformers.SiglipModel(about))
    with torch.no_grad():
        network.logit_scale.fill_(1.5)
        network.logit_bias.fill_(-3.0)
    network.save_pretrained(folder)
    _processor(
        "SiglipImageProcessor", folder, size={"height": 32, "width": 32}, image_mean=MEAN,
        image_std=SPREAD,
    )  # fmt: skip
    return _pairs(network, tokens, padding="max_length")


def tiny_open_clip(
    folder: Path, bias: float | None
) -> Callable[[np.ndarray, Sequence[str]], np.ndarray]:
    """A folder as open_clip writes it for its hub; with a bias, of SigLIP's form."""
    open_clip = pytest.importorskip("open_clip")
    folder.mkdir(exist_ok=True)
    about: dict[str, Any] = {
        "embed_dim": 12,
        "vision_cfg": {"image_size": 32, "layers": 2, "width": 16, "head_width": 8,
                       "patch_size": 8},
        "text_cfg": {"context_length": 12, "vocab_size": 49408, "width": 16, "heads": 2,
                     "layers": 2},
    }  # fmt: skip
    if bias is not None:
        about["init_logit_bias"] = bias
    listing = {"model_cfg": about, "preprocess_cfg": {"mean": MEAN, "std": SPREAD}}
    (folder / "open_clip_config.json").write_text(json.dumps(listing))
    network = _spread_out(open_clip.create_model(f"local-dir:{folder}"))
    arrays = {n: np.asarray(t.numpy(), order="C") for n, t in network.state_dict().items()}
    save_file(arrays, folder / "open_clip_model.safetensors")
    tokens = open_clip.get_tokenizer(f"local-dir:{folder}")

    def logits(batch: np.ndarray, sentences: Sequence[str]) -> np.ndarray:
        with torch.inference_mode():
            return network.get_logits(torch.from_numpy(batch), tokens(list(sentences)))[0].numpy()

    return logits


def _logits(network: Any) -> Callable[[np.ndarray], np.ndarray]:
    def logits(batch: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return network(pixel_values=torch.from_numpy(batch)).logits.numpy()

    return logits


def _pairs(
    network: Any, tokens: Any, padding: bool | str
) -> Callable[[np.ndarray, Sequence[str]], np.ndarray]:
    def logits(batch: np.ndarray, sentences: Sequence[str]) -> np.ndarray:
        given = tokens(list(sentences), return_tensors="pt", padding=padding)
        mask = {"attention_mask": given["attention_mask"]} if padding is True else {}
        with torch.inference_mode():
            return network(
                pixel_values=torch.from_numpy(batch), input_ids=given["input_ids"], **mask
            ).logits_per_image.numpy()

    return logits
