"""Verdicts on maps of a real network: EfficientNet-lite0 on images of pets, two fills.

    THEODOLITE_DATA=DATA python benchmarks/front_door_pets.py --images 24

DATA has ``oxford_pets`` and ``efficientnet_lite0``. Needs captum (``theodolite[explain]``).
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import torch
from captum.attr import IntegratedGradients, LayerGradCam

import theodolite
from theodolite._storage.images import read_image
from theodolite.models.loading import load_model

STEPS, BATCH = 24, 24


def main() -> None:
    """Make maps, audit them and print the share of each fill."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=24)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    root = Path(os.environ["THEODOLITE_DATA"])
    weights = root / "efficientnet_lite0" / "efficientnet_lite0_fp16.safetensors"
    backbone = load_model("efficientnet_lite0", weights=weights)
    network, config = backbone.network.float().eval(), backbone.preprocessing
    files = sorted((root / "oxford_pets" / "images").iterdir())
    order = np.random.default_rng(options.seed).permutation(len(files))[: options.images]
    chosen = [files[i] for i in sorted(order)]
    pixels = np.stack([np.asarray(read_image(path)) for path in chosen]) / 255
    values = (pixels - np.array(config.mean)) / np.array(config.spread)
    images = torch.from_numpy(np.moveaxis(values, 3, 1).astype(np.float32))
    trimaps = [root / "oxford_pets" / "trimaps" / f"{path.stem}.png" for path in chosen]
    masks = np.stack([np.asarray(read_image(path, "L")) == 1 for path in trimaps])
    with torch.no_grad():
        target = network(images).argmax(1)
    integrated = IntegratedGradients(network).attribute(
        images, target=target, n_steps=STEPS, internal_batch_size=BATCH
    )
    layer = network.get_submodule(backbone.layer)
    cam = LayerGradCam(network, layer).attribute(images, target=target, relu_attributions=True)
    maps = {"IG, summed": integrated, "IG, absolute": integrated.abs().sum(1), "Grad-CAM": cam}
    print(f"maps made: {time.process_time():.0f} CPU s", flush=True)
    audited = theodolite.audit_saliency(
        maps, images, model=network, masks=masks, target=target, fill=("mean", "blur"),
        quick=options.quick, seed=options.seed, progress=None,
    )  # fmt: skip
    assert isinstance(audited, dict), "several methods"
    for method, result in audited.items():
        print(f"== {method}\n{result}")
        for score in result:
            if score.metric == "map_fit" and score.share is not None:
                share = score.share
                print(
                    f"fill {score.options['fill']}: fit {score.value:.2f}, best {score.best:.2f}, "
                    f"share {share.value:.2f} [{share.low:.2f}, {share.high:.2f}] "
                    f"against {share.null}"
                )
    print(f"{time.process_time():.0f} CPU s")


if __name__ == "__main__":
    main()
