"""Labeled texts: concept data sets of texts for SAE audits (sae-probes format)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int

from theodolite._stats.sampling import hash_integers
from theodolite._storage.paths import confined, sha256_of
from theodolite._storage.text import read_csv
from theodolite.errors import EvidenceError, UnsafeInputError

FEWEST = 4
"""Smallest number of texts with a concept, and without it."""
LONGEST = 100_000
"""Largest number of characters of a text."""


@dataclass(frozen=True, eq=False)
class LabeledTexts:
    """Texts collected per concept; each text has a label for one concept."""

    name: str
    texts: tuple[str, ...]
    concepts: tuple[str, ...]
    concept: Int[np.ndarray, " texts"]
    """Concept that each text was collected for."""
    label: Bool[np.ndarray, " texts"]
    """Whether the text has its concept."""
    last_tokens: Bool[np.ndarray, " concepts"]
    """Whether a concept is at the end of its texts, so that long ones lose their beginning."""
    notes: tuple[str, ...] = ()
    digests: dict[str, str] | None = None

    documents = None
    """Document of each text: all different, as far as known."""

    @property
    def at_end(self) -> Bool[np.ndarray, " texts"]:
        """Whether each text's concept is at its end."""
        return np.asarray(self.last_tokens[self.concept])

    @property
    def truth(self) -> Bool[np.ndarray, "texts concepts"]:
        """Whether a text has each concept; False where unknown."""
        return np.asarray(self.known & self.label[:, None])

    @property
    def known(self) -> Bool[np.ndarray, "texts concepts"]:
        """Where the truth is known: for the text's own concept."""
        return np.asarray(self.concept[:, None] == np.arange(len(self.concepts)))


def sae_probes(
    root: Path,
    *,
    sets: Sequence[str],
    last_tokens: Sequence[str] = (),
    most: int = 200,
    seed: int = 0,
) -> LabeledTexts:
    """Concept sets in the form of the package sae-probes: ``SET.csv.zst`` or ``SET.csv`` with the
    columns ``prompt`` and ``target``, which has two values.

    Args:
        root: The folder.
        sets: Names of the files, without their endings.
        last_tokens: Sets whose concept sits at the end of the text.
        most: Texts of each set, half of them with the concept, drawn by the seed.
        seed: Which.
    """
    if not sets or len(set(sets)) < len(sets) or not set(last_tokens) <= set(sets):
        raise EvidenceError("sets", f"{list(sets)}", "some, each once, with those of last_tokens")
    texts: list[str] = []
    concept: list[int] = []
    label: list[bool] = []
    digests, notes = {}, []
    for number, name in enumerate(sets):
        path = _file(root, name)
        digests[path.name] = sha256_of(path)
        first, own = _balanced(_rows(path), name, most, seed)
        notes.append(f"{name}: the concept is the target {first!r}")
        texts += [text for text, _ in own]
        label += [has for _, has in own]
        concept += [number] * len(own)
    last = np.array([name in set(last_tokens) for name in sets])
    return LabeledTexts(
        "sae-probes", tuple(texts), tuple(sets), np.array(concept), np.array(label), last,
        (f"Which of two targets is the concept: {'; '.join(notes)}.",), digests,
    )  # fmt: skip


def _file(root: Path, name: str) -> Path:
    for ending in (".csv.zst", ".csv"):
        path = confined(root, f"{name}{ending}")
        if path.is_file():
            return path
    raise UnsafeInputError(f"concept set {name!r}", "no such file", "NAME.csv.zst or NAME.csv")


def _rows(path: Path) -> list[tuple[str, str]]:
    what = f"concept set {path.name!r}"
    rows = []
    for row in read_csv(path, "concept set"):
        text, target = row.get("prompt"), row.get("target")
        if text is None or target is None:
            raise UnsafeInputError(what, "no prompt or no target", "both columns")
        if len(text) > LONGEST:
            raise UnsafeInputError(
                what, f"a text of {len(text):,} characters", f"at most {LONGEST:,}"
            )
        if text.strip():
            rows.append((text, target))
    return rows


def _balanced(
    rows: Sequence[tuple[str, str]], name: str, most: int, seed: int
) -> tuple[str, list[tuple[str, bool]]]:
    """As many with as without; the concept is the target that is not called not, no or 0."""
    targets = sorted({target for _, target in rows})
    if len(targets) != 2:
        raise UnsafeInputError(f"concept set {name!r}", f"{len(targets)} targets", "two")
    first = min(targets, key=lambda t: (t.lower().startswith(("not", "no", "0", "false")), t))
    chosen = []
    for target in targets:
        own = list(dict.fromkeys(text for text, t in rows if t == target))
        if len(own) < FEWEST:
            raise UnsafeInputError(
                f"concept set {name!r}", f"{len(own)} of {target!r}", f"{FEWEST}"
            )
        order = np.argsort(hash_integers(np.arange(len(own)), seed), kind="stable")
        chosen += [(own[i], target == first) for i in order[: most // 2]]
    return first, chosen
