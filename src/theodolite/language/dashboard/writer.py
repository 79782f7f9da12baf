"""Write a dashboard as one file, or as a folder with a page and blocks."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from theodolite.language.dashboard.blocks import BlockWriter, pack_block
from theodolite.language.dashboard.material import FeatureMaterial
from theodolite.language.dashboard.summary import summarize_dashboard
from theodolite.language.dashboard.windows import STRONGEST, Contexts, Windows
from theodolite.report.page import TEMPLATES as SHARED
from theodolite.report.page import write_page

PAGE, BLOCKS = "index.html", "blocks"
BLOCK_LATENTS = 256
"""Number of latents per block."""
MAX_TOKEN_BYTES = 64
"""Largest number of bytes of a token that are shown."""
TEMPLATES = Path(__file__).parents[1] / "templates"
SCRIPTS = ("features_data.js", "features_texts.js", "features_list.js", "features_view.js")


def write_pages(
    material: FeatureMaterial,
    batches: Iterable[tuple[int, int, Contexts, Windows]],
    folder: Path,
    *,
    one_file: bool,
) -> Path:
    """Write all blocks, then the page itself, so that an existing page is complete.

    Args:
        material: What is said of the dictionary and its features.
        batches: First and last of some latents in a row, the places that show them, and the words
            around these; all latents in order, whole blocks at a time.
        folder: Where the page goes.
        one_file: Whether everything goes into the page.
    """
    blocks = BlockWriter(None if one_file else folder / BLOCKS, {})
    used = np.zeros(len(material.vocabulary), bool)
    words: list[list[str]] = []
    for low, high, contexts, windows in batches:
        for first in range(low, high, BLOCK_LATENTS):
            last = min(first + BLOCK_LATENTS, high)
            name = f"features-{first // BLOCK_LATENTS:04d}"
            blocks.add(name, _feature_block(material, contexts, windows, (first, last), used))
            words += _list_words(material, contexts, windows, (first, last))
    blocks.add("list", _list_block(material, words))
    blocks.add("vocabulary", _vocabulary_block(material, used))
    content = summarize_dashboard(material) | {
        "blocks": blocks.inside,
        "one_file": one_file,
        "features": f"{len(material):,}",
    }
    paths = [SHARED / "elements.js", *(TEMPLATES / name for name in SCRIPTS)]
    scripts = [path.read_text("utf-8") for path in paths]
    return write_page(
        folder / PAGE, "features.html.j2", content, ["\n".join(scripts)], styles=["features.css"],
        loads_scripts=not one_file, templates_folder=TEMPLATES,
    )  # fmt: skip


def _list_words(
    material: FeatureMaterial, contexts: Contexts, windows: Windows, ends: tuple[int, int]
) -> list[list[str]]:
    """Return the words by which each of some consecutive latents is found."""
    some = contexts.of(*ends)
    strong = np.flatnonzero(contexts.group[some] == STRONGEST) + some.start
    peaks: list[list[int]] = [[] for _ in range(*ends)]
    tokens = windows.tokens[strong, windows.peak[strong]]
    for latent, token in zip(contexts.latent[strong].tolist(), tokens.tolist(), strict=True):
        peaks[latent - ends[0]].append(token)
    return [material.words(latent, peaks[latent - ends[0]]) for latent in range(*ends)]


def _list_block(material: FeatureMaterial, words: list[list[str]]) -> str:
    activity = material.activity
    texts = {
        "words": words,
        "effects": {
            latent: [[own.act, own.answer] for own in effects]
            for latent, effects in material.effects.items()
        },
        "labels": [material.label(latent) for latent in range(len(material))],
        "names": bool(material.latents.names),
        "tokens": activity.tokens,
        "sequences": activity.sequences,
        "step": BLOCK_LATENTS,
        "scores": [
            {
                "title": score.title,
                "share": score.share,
                "nulls": [[null.name, null.meaning] for null in score.nulls],
            }
            for score in material.scores
        ],
    }
    arrays = {
        "active": activity.active_tokens.astype(np.uint32),
        "sequences": activity.active_sequences.astype(np.uint32),
        "largest": np.nan_to_num(activity.largest).astype(np.float32),
    }
    for number, score in enumerate(material.scores):
        arrays[f"score {number}"] = np.asarray(score.values, np.float32)
        arrays[f"marks {number}"] = score.marks().ravel()
    return pack_block(texts, arrays)


def _feature_block(
    material: FeatureMaterial,
    contexts: Contexts,
    windows: Windows,
    ends: tuple[int, int],
    used: np.ndarray,
) -> str:
    """Pack contexts and null comparisons of some consecutive latents."""
    first, last = ends
    some = contexts.of(first, last)
    tokens, parts = np.asarray(windows.tokens[some]), np.asarray(windows.parts[some])
    inside = tokens >= 0
    used[tokens[inside]] = True
    wide = len(material.vocabulary) > 1 << 16
    counts = np.bincount(contexts.latent[some] - first, minlength=last - first)
    texts = [material.texts(latent) for latent in range(first, last)]
    arrays = {
        "counts": counts.astype(np.uint16),
        "group": contexts.group[some].astype(np.uint8),
        "length": inside.sum(axis=1).astype(np.uint8),
        "peak": windows.peak[some].astype(np.uint8),
        "row": contexts.row[some].astype(np.uint32),
        "first": windows.first[some].astype(np.uint32),
        "total": windows.length[some].astype(np.uint32),
        "tokens": tokens[inside].astype(np.uint32 if wide else np.uint16),
        "parts": parts[inside].astype(np.int16),
    }
    for number, score in enumerate(material.scores):
        bars = [np.asarray(null.bar, np.float32)[first:last] for null in score.nulls]
        arrays[f"bars {number}"] = np.stack(bars).ravel()
    if material.logits is not None:
        ids = material.logits.tokens[first:last]
        used[ids] = True
        arrays["logit tokens"] = ids.astype(np.uint32).ravel()
        arrays["logits"] = material.logits.values[first:last].astype(np.float32).ravel()
    return pack_block({"first": first, "texts": texts}, arrays)


def _vocabulary_block(material: FeatureMaterial, used: np.ndarray) -> str:
    """Pack the bytes of the tokens that occur; long ones are cut and their length given."""
    ids = np.flatnonzero(used)
    words = [material.vocabulary[int(token)] for token in ids]
    content = [word[:MAX_TOKEN_BYTES] for word in words]
    long = {int(t): len(w) for t, w in zip(ids, words, strict=True) if len(w) > MAX_TOKEN_BYTES}
    arrays: dict[str, np.ndarray] = {
        "ids": ids.astype(np.uint32),
        "ends": np.cumsum([len(word) for word in content], dtype=np.uint32),
        "bytes": np.frombuffer(b"".join(content), np.uint8),
    }
    return pack_block({"long": long}, arrays)
