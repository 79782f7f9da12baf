"""Turn explanations of latents into study items: texts with marked words, and a label."""

import hashlib
from collections.abc import Sequence

import numpy as np

from theodolite.datasets.study_material.marked_texts import (
    GRADES,
    Mark,
    MarkedText,
    TextInstance,
    TextMaterial,
)
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.shards import InMemoryShards
from theodolite.language.dashboard.peaks import find_peaks
from theodolite.language.dashboard.windows import (
    FULL_SCALE,
    STRONGEST,
    choose_contexts,
    read_windows,
)
from theodolite.language.dashboard.writer import MAX_TOKEN_BYTES
from theodolite.language.texts.explanations import LatentExplanation
from theodolite.language.texts.vocabulary import Vocabulary

PER_TENTH = 1


def study_texts(
    evidence: TokenEvidence,
    vocabulary: Vocabulary,
    explanations: Sequence[LatentExplanation],
    *,
    width: int = 32,
    seed: int = 0,
) -> TextMaterial:
    """Return one item per explanation, with a text from each tenth of the latent's values.

    The strongest texts alone flatter an explanation. Latents that are active in too few texts for
    tenths are shown with the texts there are, twenty at most; explanations of latents that are
    never active are left out. Keys tell neither the latent nor who explains.

    Args:
        evidence: Sparse codes at tokens.
        vocabulary: The bytes of each token.
        explanations: What people are asked about; those without words are left out.
        width: Tokens of a text.
        seed: Of the draw and of the keys.
    """
    shards = InMemoryShards(evidence)
    activity = find_peaks(shards, 20, seed, len(vocabulary))
    contexts = choose_contexts(activity, PER_TENTH, np.zeros((0, 2), np.int64))
    windows = read_windows(shards, contexts, activity.largest, width)
    instances = []
    for each in explanations:
        if each.latent >= len(evidence.latents):
            got = f"latent {each.latent}"
            raise EvidenceError("explanations", got, f"below {len(evidence.latents)}")
        own = np.arange(*contexts.of(each.latent, each.latent + 1).indices(len(contexts)))
        tenths = own[contexts.group[own] != STRONGEST]
        texts = [
            mark_text(windows.tokens[i], windows.parts[i], vocabulary)
            for i in (tenths if len(tenths) else own)
        ]
        if texts and each.text.strip():
            key = hashlib.sha256(f"{seed} {each.latent} {each.author} {each.text}".encode())
            instances.append(
                TextInstance(key=key.hexdigest()[:16], technique=each.author.strip() or "unknown",
                             label=printable(each.text, 2000), texts=texts)
            )  # fmt: skip
    if not instances:
        raise EvidenceError("explanations", "none of a latent that is active", "one or more")
    return TextMaterial(instances=instances)


def mark_text(tokens: np.ndarray, parts: np.ndarray, vocabulary: Vocabulary) -> MarkedText:
    """Return a window as marked text; invisible characters are written out."""
    text, marks = "", []
    for token, part in zip(tokens.tolist(), parts.tolist(), strict=True):
        if token < 0:
            break
        word = _visible(vocabulary[token][:MAX_TOKEN_BYTES])
        bare = word.lstrip(" ")
        start = len(text) + len(word) - len(bare)
        text += word
        if part and bare:
            strength = min(-(-GRADES * abs(part) // FULL_SCALE), GRADES)
            marks.append(Mark(start=start, end=len(text), strength=strength))
    return MarkedText(text=text or " ", marks=marks)


def _visible(content: bytes) -> str:
    return printable(content.decode(errors="backslashreplace"), 1000)
