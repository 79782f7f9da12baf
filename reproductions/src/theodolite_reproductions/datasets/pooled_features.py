"""Write the pooled features of CUB-200-2011 that some protocols read.

    python -m theodolite_reproductions.datasets.pooled_features DATA

DATA holds cub200/CUB_200_2011 with all its images, and efficientnet_lite0/ (weights).
"""

import sys
from pathlib import Path

import numpy as np

from theodolite._storage.arrays import write_npy
from theodolite.datasets.labeled_images import cub_images
from theodolite.errors import EvidenceError
from theodolite.models.loading import load_named_model
from theodolite.models.patches import compute_embeddings

BACKBONE = "efficientnet_lite0"
WEIGHTS = f"{BACKBONE}/{BACKBONE}_fp16.safetensors"
POOLED = f"cub200/{BACKBONE}_pooled_fp16.npy"


def write_pooled_features(data: Path) -> Path:
    """Write a row of features for each image, in the order of ``images.txt``."""
    birds = cub_images(data / "cub200" / "CUB_200_2011")
    if not birds.at_hand.all():
        missing = f"{(~birds.at_hand).sum():,} images that are not there"
        raise EvidenceError(f"data set {birds.name!r}", missing, "all of them")
    network = load_named_model(BACKBONE, weights=data / WEIGHTS)
    features = compute_embeddings(network, (birds.image(row) for row in range(len(birds))))
    write_npy(data / POOLED, features.astype(np.float16))
    return data / POOLED


if __name__ == "__main__":
    write_pooled_features(Path(sys.argv[1]))
