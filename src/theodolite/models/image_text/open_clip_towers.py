"""Load CLIP and SigLIP models of open_clip. Importing this imports torch."""

from pathlib import Path
from typing import Any

import torch

from theodolite._storage.checkpoints import read_weights
from theodolite._storage.optional import require
from theodolite._storage.text import read_json
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.models.features import Preprocessing
from theodolite.models.image_text.towers import Towers
from theodolite.models.spatial_layers import find_last_spatial_layer
from theodolite.models.timm_models import fill

HUB, HERE = "hf-hub:", "local-dir:"
CONFIG = "open_clip_config.json"
WORDS = {"clean", "language", "reduction_mask", "strip_sep_token"}
"""Tokenizer settings that are accepted; others could execute code."""


def load_open_clip_towers(model: str, source: str) -> Towers:
    """Load a model of open_clip as image and text towers.

    Args:
        model: Its name, such as ``ViT-B-32``, or ``hf-hub:`` and a name on the hub.
        source: A file of weights; or a folder with ``open_clip_config.json`` and one file of
            weights, for which ``model`` is but a name; or a tag that open_clip knows, whose weights
            it fetches from the user's hub.

    Weights from the hub are read by our own reader too, which takes nothing but tensors.
    """
    open_clip = require("open_clip", "open_clip", "clip")
    place, file, tag = _where(model, source)
    known = open_clip.list_models()
    if ":" not in place and place not in known:
        raise EvidenceError("open_clip", repr(model), f"a model of it, such as {known[:5]}")
    at_hand = place.startswith(HERE)
    _check_tokenizer(
        read_json(Path(source) / CONFIG) if at_hand else open_clip.get_model_config(place)
    )
    with torch.random.fork_rng(devices=[]):  # it fills the network with random numbers first
        network = open_clip.create_model(
            place, pretrained=tag, load_weights=False, pretrained_text=False
        ).eval()
    _fill(network, file or _fetched(place, tag))
    name = f"open_clip:{model}@{source}" if source else f"open_clip:{model}"
    return _as_towers(name, network, open_clip.get_tokenizer(place))


def _as_towers(name: str, network: Any, tokens: Any) -> Towers:
    config = network.visual.preprocess_cfg
    size = config["size"]
    rows, columns = (size, size) if isinstance(size, int) else size
    grid = getattr(network.visual, "grid_size", None)
    bias = getattr(network, "logit_bias", None)
    with torch.inference_mode():
        dimensions = int(network.encode_text(tokens(["a"])).shape[-1])
    return Towers(
        name=name,
        images=network.visual,
        texts=lambda sentences: network.encode_text(tokens(list(sentences))),
        scale=float(network.logit_scale.detach().exp()),
        bias=0.0 if bias is None else float(bias.detach()),
        dimensions=dimensions,
        preprocessing=Preprocessing((rows, columns), tuple(config["mean"]), tuple(config["std"])),
        layer=find_last_spatial_layer(network.visual),
        sigmoid=bias is not None,
        grid=tuple(grid) if grid is not None else None,
    )


def _where(model: str, source: str) -> tuple[str, Path | None, str | None]:
    """Return open_clip's model name, the local weight file or None, and the weights' tag."""
    path = Path(source)
    model = model if model.startswith(HUB) else model.replace("/", "-")
    if source and path.is_dir():
        files = sorted(path.glob("*.safetensors"))
        if len(files) != 1:
            raise UnsafeInputError(
                f"folder {path.name!r}", f"{len(files)} .safetensors files",
                "one, and open_clip_config.json",
            )  # fmt: skip
        return f"{HERE}{path}", files[0], None
    if source and path.is_file():
        return model, path, None
    if not source and not model.startswith(HUB):
        raise EvidenceError(
            "weights", f"none for {model!r}", "a file, a folder or a tag of open_clip",
            f"Name them: open_clip:{model}@<file, folder or tag>.",
        )  # fmt: skip
    return model, None, source or None


def _check_tokenizer(config: Any) -> None:
    inner = config.get("model_cfg", config) if isinstance(config, dict) else {}
    text = inner.get("text_cfg") if isinstance(inner, dict) else None
    tokenizer_options = text.get("tokenizer_kwargs", {}) if isinstance(text, dict) else None
    if not isinstance(tokenizer_options, dict) or not tokenizer_options.keys() <= WORDS:
        raise UnsafeInputError(
            f"configuration {CONFIG!r}", f"a tokenizer with {tokenizer_options}",
            f"a text_cfg with no tokenizer_kwargs but {', '.join(sorted(WORDS))}",
        )  # fmt: skip


def _fetched(place: str, tag: str | None) -> Path:
    from open_clip import pretrained  # noqa: PLC0415

    if place.startswith(HUB):
        return Path(pretrained.download_pretrained_from_hf(place.removeprefix(HUB)))
    return Path(pretrained.download_pretrained(pretrained.get_pretrained_cfg(place, tag)))


def _fill(network: torch.nn.Module, file: Path) -> None:
    from open_clip.convert import convert_state_dict  # noqa: PLC0415

    tensors = {name: torch.from_numpy(a.copy()) for name, a in read_weights(file).items()}
    state = network.state_dict()
    weights = {
        # scale and bias are a number in some files and a list of one in others
        name: t.reshape(state[name].shape) if name.startswith("logit_") and name in state else t
        for name, t in convert_state_dict(network, tensors).items()
    }
    fill(network, {name: t.numpy() for name, t in weights.items()}, file.name)
