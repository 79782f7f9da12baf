"""A causal model and an encoder of two blocks with tokenizers of a few words, as transformers saves
them; texts with a concept; and a dictionary as SAELens saves it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

WORDS = [
    "the",
    "cat",
    "dog",
    "sat",
    "ran",
    "here",
    "a",
    "on",
    "mat",
    "tree",
    "old",
    "new",
    "red",
    "blue",
    "big",
    "small",
]
WIDE = 16
UNKNOWN = "<unk>"


def save_model(folder: Path, kind: str) -> Path:
    """``llama`` or ``bert``."""
    tokenizers, torch, transformers = map(
        pytest.importorskip, ("tokenizers", "torch", "transformers")
    )

    special = ["<s>"] if kind == "llama" else ["[CLS]", "[SEP]"]
    ids = {word: number for number, word in enumerate([*special, *WORDS, UNKNOWN])}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token=UNKNOWN))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    names = ("bos_token",) if kind == "llama" else ("cls_token", "sep_token")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token=UNKNOWN, **dict(zip(names, special, strict=True))
    ).save_pretrained(folder)
    size: dict[str, Any] = {
        "vocab_size": len(ids), "hidden_size": WIDE, "intermediate_size": 24,
        "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 64,
    }  # fmt: skip
    torch.manual_seed(0)
    if kind == "llama":
        config = transformers.LlamaConfig(**size, num_key_value_heads=2)
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
    else:
        transformers.BertForMaskedLM(transformers.BertConfig(**size)).save_pretrained(folder)
    return folder


def save_texts(path: Path, n: int = 64) -> Path:
    """Half of them with a cat; a column that is no concept."""
    random = np.random.default_rng(0)
    lines = ["text,cat,source"]
    for number in range(n):
        words = list(random.choice(WORDS[3:], 6))
        words[int(random.integers(6))] = "cat" if number % 2 else "dog"
        lines.append(f"{' '.join(words)},{number % 2},page {number}")
    path.write_text("\n".join(lines))
    return path


def save_dictionary(folder: Path, wide: int = WIDE) -> Path:
    """Of 24 latents, 3 of which are active; what it rebuilds is better than nothing."""
    folder.mkdir()
    rows = np.random.default_rng(0).normal(size=(24, wide)).astype(np.float32)
    arrays = {"W_enc": rows.T.copy(), "W_dec": rows / 100, "b_enc": np.zeros(24, np.float32)}
    save_file(arrays | {"b_dec": np.zeros(wide, np.float32)}, folder / "sae_weights.safetensors")
    (folder / "cfg.json").write_text(json.dumps({"architecture": "topk", "k": 3}))
    return folder
