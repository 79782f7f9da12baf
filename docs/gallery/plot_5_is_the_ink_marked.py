"""
Does a saliency map mark the object?
====================================

Several saliency maps explain a linear classifier of digits. Which of them marks the ink? Digits are
centered, so a map that always marks the center scores well without using the image. This is the
baseline to beat.
"""

# %%
# One classifier, three maps for each image.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import theodolite

digits = load_digits()
pixels = digits.data / 16
model = LogisticRegression(C=0.05, max_iter=500).fit(pixels[::2], digits.target[::2])
tested = pixels[1::2]
weights = model.coef_[model.predict(tested)]
maps = {
    "weight x pixel": np.abs(weights * tested),
    "weight": np.abs(weights),
    "noise": np.random.default_rng(0).random(tested.shape),
}
objects = (tested > 0.5).reshape(-1, 8, 8)

# %%
# The fraction of relevance on the ink. The weights alone do not depend on the image.

scores = {}
for name, drawn in maps.items():
    evidence = theodolite.SaliencyEvidence(maps=drawn.reshape(-1, 8, 8), objects=objects)
    audit = theodolite.audit(evidence)
    scores[name] = next(s for s in audit.scores if s.metric == "relevance_mass")
    print(name, "|", next(v for v in audit.verdicts if v.question == "located").summary)

figure, axes = plt.subplots(
    1, 4, figsize=(9, 2.4), width_ratios=[1, 1, 1, 2.2], layout="constrained"
)
for panel, (name, drawn) in zip(axes, maps.items(), strict=False):
    panel.imshow(drawn[7].reshape(8, 8), cmap="Blues")
    panel.contour(objects[7], levels=[0.5], colors="tab:orange")
    panel.set(title=name, xticks=[], yticks=[])
for row, score in enumerate(scores.values()):
    axes[3].plot([score.interval.low, score.interval.high], [row, row], color="tab:blue", lw=3)
    axes[3].plot(score.value, row, "o", color="tab:blue")
    axes[3].plot([null.value for null in score.nulls], [row] * len(score.nulls), "|k", ms=14)
axes[3].set_yticks(range(3), list(scores))
axes[3].set_ylim(2.5, -0.5)
axes[3].set(xlabel="fraction of relevance on the ink", title="Score, interval; ticks: baselines")

# sphinx_gallery_thumbnail_path = '_static/thumbnails/is_the_ink_marked.svg'
