"""
Does a bottleneck of strokes leak the digit?
============================================

A bottleneck predicts whether a handwritten digit has a loop, a straight line, an open side and a
flat top. A head then predicts the digit. Four binary concepts do not determine ten digits. If the
*scores* of the concepts do, they leak information about the digit.
"""

# %%
# Concepts by digit, and a bottleneck for each concept, learned from the images alone.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import theodolite

LOOP, LINE, OPEN, FLAT = (0, 6, 8, 9), (1, 4, 7, 9), (2, 3, 5, 6), (5, 7)
images, labels = load_digits(return_X_y=True)
truth = np.stack([np.isin(labels, digits) for digits in (LOOP, LINE, OPEN, FLAT)], axis=1)
learned, tested = np.arange(len(labels)) % 2 == 0, np.arange(len(labels)) % 2 == 1
logits = np.stack(
    [
        LogisticRegression(C=0.01, max_iter=2000)
        .fit(images[learned] / 16, concept[learned])
        .decision_function(images[tested] / 16)
        for concept in truth.T
    ],
    axis=1,
)

# %%
# The same bottleneck in three forms: probabilities, probabilities rounded to quarters, and 0 or 1.
# Leakage is what a score reveals about the digit *beyond* the true concept. The reference is the
# same evidence without this information.

soft = 1 / (1 + np.exp(-logits))
values = {"soft": soft, "in quarters": np.round(4 * soft) / 4, "hard": np.round(soft)}
scores = {}
for name, scores_of_concepts in values.items():
    evidence = theodolite.ConceptEvidence(
        values=scores_of_concepts,
        truth=truth[tested],
        labels=labels[tested],
        concepts=["loop", "line", "open", "flat top"],
    )
    audit = theodolite.audit(evidence)
    scores[name] = next(s for s in audit.scores if s.metric == "task_leakage_given_concept")
    print(name, next(v for v in audit.verdicts if v.question == "leak_free").summary)

# %%
# Probabilities reveal a large part of what the concepts leave open about the digit, and rounded
# ones less. Hard values reveal little apart from their own errors. A head on probabilities is more
# accurate *because* of this leakage.

figure, axes = plt.subplots(figsize=(7, 2.6))
for row, score in enumerate(scores.values()):
    low, high = score.interval.low, score.interval.high
    axes.plot([low, high], [row, row], color="tab:blue", lw=3)
    axes.plot(score.value, row, "o", color="tab:blue")
    axes.plot(score.null.value, row, "|", color="black", ms=16)
axes.set_yticks(range(3), list(scores))
axes.set_ylim(2.5, -0.5)
axes.set(xlabel="fraction of the remaining information about the digit; ticks: reference")
axes.set_title("Task leakage given the concept")
figure.tight_layout()

# sphinx_gallery_thumbnail_path = '_static/thumbnails/leaking_strokes.svg'
