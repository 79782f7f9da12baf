"""Verdicts on saliency maps of planted shapes: how often they are right, and their shares.

    python benchmarks/front_door_maps.py --networks 4 --draws 10

The first network is the one of ``planted_shapes``; others are trained with their seed. A draw has
its own images. Needs captum (``theodolite[explain]``). Prints after each draw, so that it can be
stopped.
"""

import argparse
import time
from collections import Counter, defaultdict

import numpy as np
import torch
from captum.attr import IntegratedGradients, LayerGradCam
from scipy.ndimage import gaussian_filter, sobel

import theodolite
from theodolite.datasets import planted_shapes
from theodolite.datasets.shape_images import draw_shapes, train_network

LAST_RELU = 6
STEPS = 32


def make_maps(
    network: torch.nn.Sequential, images: torch.Tensor, target: torch.Tensor, seed: int
) -> dict[str, np.ndarray | torch.Tensor]:
    """Return maps of known quality: three methods, and six maps that are no explanation."""
    random = np.random.default_rng((22, seed))
    each = IntegratedGradients(network).attribute(images, target=target, n_steps=STEPS)
    cam = LayerGradCam(network, network[LAST_RELU])
    gray, side = images.mean(1).numpy(), images.shape[-1]
    down, across = np.indices((side, side)) - (side - 1) / 2
    hill = np.exp(-(down**2 + across**2) / (2 * (side / 4) ** 2))
    noise = random.normal(size=gray.shape)
    return {
        "IG, summed": each,
        "IG, absolute": each.abs().sum(1),
        "Grad-CAM": cam.attribute(images, target=target, relu_attributions=True),
        "edges": np.hypot(sobel(gray, 1), sobel(gray, 2)),
        "center": np.broadcast_to(hill, gray.shape),
        "noise": noise,
        "smooth noise": gaussian_filter(noise, (0, 3, 3)),
        "IG of another image": each.roll(1, 0),
        "color saturation": images.amax(1) - images.amin(1),
    }


def main() -> None:
    """Audit and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=4)
    parser.add_argument("--draws", type=int, default=10, help="of images, for each network")
    parser.add_argument("--images", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(1)
    answers: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    baselines: Counter[str] = Counter()
    networks = [planted_shapes(1)[0], *map(train_network, range(1, options.networks))]
    for draw in range(options.draws):
        for number, network in enumerate(networks):
            assert isinstance(network, torch.nn.Sequential)
            seed = 1000 * number + draw + 100
            values, classes, objects = draw_shapes(options.images, seed)
            images = torch.from_numpy(values)
            with torch.no_grad():
                target = network(images).argmax(1)
            correct = (target.numpy() == classes).mean()
            audited = theodolite.audit_saliency(
                make_maps(network, images, target, seed), images, model=network,
                masks=objects, target=target, seed=draw, progress=None,
            )  # fmt: skip
            assert isinstance(audited, dict), "several methods"
            for method, result in audited.items():
                for verdict in result.verdicts:
                    score = verdict.score
                    if score is None:
                        continue
                    answers[method, verdict.question][verdict.answer] += 1
                    if score.share is not None:
                        shares[method, verdict.question].append(score.share.value)
                        baselines[f"{verdict.question}: {score.share.null}"] += 1
            at = f"draw {draw}, network {number} ({100 * correct:.0f} % correct)"
            print(f"== {at}, {time.process_time():.0f} CPU s", flush=True)
        for (method, question), counts in sorted(answers.items(), key=lambda item: item[0][1]):
            share = np.mean(shares[method, question])
            each = ", ".join(f"{answer} {n}" for answer, n in counts.most_common())
            print(f"{question:9} {method:20} share {share:6.2f}  {each}", flush=True)
        print("strongest baseline:", dict(baselines), flush=True)


if __name__ == "__main__":
    main()
