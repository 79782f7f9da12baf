"""An explainer and a learned score, tied together so that settings can be sought."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from theodolite._storage.images import read_image
from theodolite.errors import EvidenceError
from theodolite.explainers.saliency.methods import explainer
from theodolite.models.loading import load_named_model
from theodolite_reproductions.acceptance.embedding import Embedder
from theodolite_reproductions.acceptance.rendering import draw_map
from theodolite_reproductions.acceptance.score_file import LearnedScore
from theodolite_reproductions.acceptance.scoring import rendering_of
from theodolite_reproductions.acceptance.tuning import Settings

Maps = np.ndarray


def explained_and_rated(
    images: Sequence[Path],
    network: tuple[str, Path | None],
    method: tuple[str, int],
    learned: LearnedScore,
    embedder: Embedder,
) -> tuple[Callable[[Settings], Maps], Callable[[Maps], float]]:
    """What makes maps with some settings, and what rates them, on average over images.

    The class that is explained is the one that the network predicts.

    Args:
        images: Files.
        network: A name and, perhaps, weights.
        method: The explainer, and its seed.
        learned: A score of the vectors of images alone.
        embedder: Its embedding.
    """
    import torch  # noqa: PLC0415

    blocks = (*learned.card.features, *learned.card.straight)
    if blocks != ("embedding",):
        raise EvidenceError("learned score", f"features {blocks}", "the embedding alone")
    loaded = [read_image(path) for path in images]
    if not loaded:
        raise EvidenceError("images", "none", "at least one")
    backbone = load_named_model(network[0], weights=network[1])
    batch = np.stack([backbone.preprocessing(image) for image in loaded])
    with torch.inference_mode():
        targets = backbone.network(torch.from_numpy(batch)).argmax(dim=1).numpy()
    rendering = rendering_of(learned.card)

    def explain(settings: Settings) -> Maps:
        run = explainer(method[0], backbone.network, seed=method[1], options=dict(settings))
        return np.asarray(run(batch, targets))

    def rate(maps: Maps) -> float:
        drawings = [
            draw_map(image, np.asarray(relevance, np.float64), rendering)
            for image, relevance in zip(loaded, maps, strict=True)
        ]
        vectors = np.asarray(embedder.embedding.images(drawings), np.float64)
        return float(learned.ratings(vectors).mean())

    return explain, rate
