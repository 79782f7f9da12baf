"""
Which explanation of a tumor classifier adds up?
================================================

A small neural network classifies tumors as malignant or benign. Two methods explain it by a few
concepts, each with an importance: principal components, and non-negative parts. Readers of such an
explanation add up the concepts. Does the sum match the output of the network?
"""

# %%
# The network, its last layer, and the inputs of that layer.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

import theodolite
from theodolite.ext import METHODS

cells, malignant = load_breast_cancer(return_X_y=True)
cells = StandardScaler().fit_transform(cells)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # forty rounds are enough here
    network = MLPClassifier((16,), max_iter=40, random_state=0).fit(cells[::2], malignant[::2])
embeddings = np.maximum(cells @ network.coefs_[0] + network.intercepts_[0], 0)
slope, bias = network.coefs_[1][:, 0], float(network.intercepts_[1][0])
head = np.stack([-slope / 2, slope / 2])  # one output for each class

# %%
# We find concepts on one half and test them on the other. The importance of a concept is the
# gradient of the output along it.

scores = {}
for name in ("pca", "nmf", "random"):
    method = METHODS[name](n_concepts=3).fit(embeddings[::2], seed=0)
    evidence = theodolite.SurrogateEvidence(
        importances=method.dictionary() @ head.T,
        vectors=method.dictionary(),
        projections=method.encode(embeddings[1::2]),
        embeddings=embeddings[1::2],
        head=head,
        bias=np.array([-bias / 2, bias / 2]),
    )
    audit = theodolite.audit(evidence)
    scores[name] = next(s for s in audit.scores if s.metric == "surrogate_distance")
    print(name, next(v for v in audit.verdicts if v.question == "faithful").summary)

# %%
# The distance is the probability that the explanation puts on the wrong class: lower is better.
# The ticks are uninformative baselines.

figure, axes = plt.subplots(figsize=(7, 2.6))
for row, score in enumerate(scores.values()):
    axes.plot([score.interval.low, score.interval.high], [row, row], color="tab:blue", lw=3)
    axes.plot(score.value, row, "o", color="tab:blue")
    axes.plot([null.value for null in score.nulls], [row] * len(score.nulls), "|k", ms=16)
axes.set_yticks(range(3), list(scores))
axes.set(xlabel="SURF distance; ticks: baselines", title="Three concepts, tumor classifier")
axes.set_ylim(2.5, -0.5)
figure.tight_layout()

# sphinx_gallery_thumbnail_path = '_static/thumbnails/which_is_faithful.svg'
