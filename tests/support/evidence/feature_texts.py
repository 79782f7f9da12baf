"""Token evidence whose texts, names and answers try to break a page."""

import numpy as np

from theodolite.evidence.axes import Judges, Latents, Samples
from theodolite.evidence.kinds.judgment import JudgmentEvidence
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, compute_starts
from theodolite.language.texts.explanations import LatentExplanation
from theodolite.language.texts.vocabulary import Vocabulary

EVIL = (
    "<script>window.ran=1</script>", "</script><script>window.ran=2</script>",
    "<img src=x onerror=window.ran=3>", '"><svg onload=window.ran=4>', "\u202egnp.exe", "\u2066",
    "\x00", "\x1b[31m", "\u2028", "\n", "\t", b"\xf0\x9f", b"\x98\x80", b"\xff", b"\xe2\x80",
    "javascript:window.ran=5", "{{ 7*7 }}", "]]>", "<!--", "y" * 1_000_000, "", "  " * 40,
    "مرحبا", "__proto__", "e\u0301\u0301\u0301",
)  # fmt: skip
NAME = "<img src=x onerror=window.ran=6> {n} \"'`</script>"


def drawn_codes(
    lengths: np.ndarray, latents: int, active: int, vocabulary: int, seed: int = 0
) -> TokenEvidence:
    """Tokens and codes at random; one latent in eight is never active."""
    random = np.random.default_rng(seed)
    n = int(lengths.sum())
    alive = np.flatnonzero(np.arange(latents) % 8 != 7)
    order = np.argsort(random.random((n, len(alive))), axis=1)[:, :active]
    latent = np.sort(alive[order], axis=1).astype(np.int32)
    starts, inner = compute_starts(lengths), np.arange(n + 1, dtype=np.int64) * active
    value = random.gamma(1.0, 2.0, n * active).astype(np.float16) + np.float16(0.01)
    return TokenEvidence(
        tokens=Ragged(random.integers(0, vocabulary, n).astype(np.int32), starts),
        latent=Ragged(latent.ravel(), starts, inner),
        value=Ragged(value, starts, inner),
        latents=Latents(count=latents),
        samples=Samples(np.arange(len(lengths))),
    )


def evil_vocabulary() -> Vocabulary:
    """Markup, directions, control characters, halves of characters, a token of a megabyte."""
    return Vocabulary.of([*EVIL, " harmless", " words"])


def evil_names(latents: int) -> Latents:
    """Names that are markup."""
    return Latents(tuple(NAME.format(n=n) for n in range(latents)))


def evil_explanations() -> list[LatentExplanation]:
    """Texts that are scripts."""
    return [
        LatentExplanation(0, "text", "</script><script>window.ran=7</script>\u202e", "<b>me</b>"),
        LatentExplanation(1, "formula", "<iframe src=https://example.org></iframe>"),
    ]


def evil_judgments(latents: int) -> JudgmentEvidence:
    """Answers of a judge whose name is markup, about the first latent; one cannot be read."""
    return JudgmentEvidence(
        latent=np.zeros(4, int), sequence=np.arange(4), active=np.array([1, 1, 0, 0], bool),
        answer=np.array([1.0, 0.0, 0.2, np.nan]), judge=np.zeros(4, int),
        explanation=np.array([0, 0, 0, 0]), judges=Judges(("<script>window.ran=8</script>",)),
        latents=Latents(count=latents),
    )  # fmt: skip
