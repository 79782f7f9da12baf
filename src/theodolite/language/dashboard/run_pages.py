"""Pages of a run's latents, with the results in its tables. Written below the run folder."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.language.dashboard.material import MeasuredEffect
from theodolite.language.dashboard.pages import feature_pages
from theodolite.language.dashboard.summary import RANDOM
from theodolite.language.models.latent_logits import LatentLogits
from theodolite.language.texts.explanations import LatentExplanation
from theodolite.language.texts.tokenizer_file import build_vocabulary
from theodolite.language.texts.vocabulary import Vocabulary

FOLDER = "latents"
"""Folder of the pages in a run."""
PAGES = f"{FOLDER}/index.html"
PAGE_TABLES = ("logits", "causal_effects", "concepts")
"""Tables of a run that pages show."""
CONTEXTS, PER_TENTH = 10, 1
"""Contexts of a latent: with its largest values, and from each tenth of them; 24,576 latents take
about 30 MB."""
COMPARED = {
    "random": RANDOM,
    "frozen_decoder": "random directions, encoder trained",
    "untrained": "a dictionary of the untrained network",
}
"""Baselines that a run compares with its SAE, and how a page calls them."""


def read_effects(table: Mapping[str, Sequence[Any]]) -> dict[int, list[MeasuredEffect]]:
    """Return the effects of each latent from the table of a run."""
    effects: dict[int, list[MeasuredEffect]] = defaultdict(list)
    columns = (table[name] for name in ("latent", "act", "concept", "answer", "sentence"))
    for latent, *own in zip(*columns, strict=True):
        effects[int(latent)].append(MeasuredEffect(*map(str, own)))
    return dict(effects)


def read_explanations(table: Mapping[str, Sequence[Any]]) -> list[LatentExplanation]:
    """Return what latents are said to stand for: the concepts that they tell best."""
    return [
        LatentExplanation(int(latent), "text", f"{concept} (better than random: {answer})")
        for latent, concept, answer in zip(
            table["latent"], table["concept"], table["answer"], strict=True
        )
        if int(latent) >= 0
    ]


@dataclass(frozen=True, eq=False)
class LatentPages:
    """Pages of a run, written below its folder once all else is there."""

    evidence: TokenEvidence
    beside: Mapping[str, TokenEvidence]
    vocabulary: Vocabulary
    tables: Mapping[str, Mapping[str, Sequence[Any]]]
    title: str
    seed: int

    def __call__(self, run: Path) -> None:
        """Write them."""
        feature_pages(
            self.evidence, self.vocabulary, run / FOLDER,
            beside={COMPARED[name]: own for name, own in self.beside.items() if name in COMPARED},
            title=self.title, strongest=CONTEXTS, per_tenth=PER_TENTH, seed=self.seed,
            overwrite=True, **read_page_tables(self.tables),
        )  # fmt: skip


def read_words(tokenizer: Any) -> Vocabulary | None:
    """Return the bytes of a tokenizer's tokens; None if it does not say them."""
    try:
        return build_vocabulary(json.loads(tokenizer.backend_tokenizer.to_str()))
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        return None


def read_page_tables(tables: Mapping[str, Mapping[str, Sequence[Any]]]) -> dict[str, Any]:
    """Return what pages show from the tables of a run, as options of ``feature_pages``."""
    options: dict[str, Any] = {}
    if "logits" in tables:
        options["logits"] = LatentLogits.of_columns(tables["logits"])
    if "causal_effects" in tables:
        options["effects"] = read_effects(tables["causal_effects"])
    if "concepts" in tables:
        options["explanations"] = read_explanations(tables["concepts"])
    return options
