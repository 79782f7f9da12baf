"""Audit maps that you made with Captum (needs theodolite[explain]).

The class of each image is the color of one square, and the network was trained to see it. So the
true answers are known before the audit.
"""

import numpy as np
from captum.attr import IntegratedGradients
from scipy.ndimage import sobel

import theodolite
from theodolite.datasets import planted_shapes

net, images, masks = planted_shapes(60)
target = net(images).argmax(1)
maps = IntegratedGradients(net).attribute(images, target=target, n_steps=16)

# maps that are no explanation of this network
gray = images.mean(1).numpy()
rows, columns = np.indices((32, 32)) - 15.5
methods = {
    "IG": maps,
    "random": np.random.default_rng(0).normal(size=gray.shape),
    "edges": np.hypot(sobel(gray, 1), sobel(gray, 2)),
    "center": np.tile(np.exp(-(rows**2 + columns**2) / 128), (60, 1, 1)),
    "another image": maps.roll(1, 0),
}

# one call for all of them: the network is asked once
results = theodolite.audit_saliency(
    methods, images, model=net, masks=masks, target=target, quick=True
)
for method, result in results.items():
    answers = {v.question: v.answer for v in result.verdicts if v.answer != "not_evaluated"}
    planted = "yes" if method == "IG" else "no"
    assert answers == {"located": planted, "faithful": planted}, f"{method}: {answers}"
    print(result)
