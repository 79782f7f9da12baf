"""
Is it good enough, and did a change help?
=========================================

A classifier of wines predicts five properties and then the grower. A file sets the thresholds. Then
the model changes, and we check it again.
"""

# %%
# The bottleneck: five chemical properties as "high" or "low", learned from the other measurements.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler

import theodolite

wine = load_wine()
named = [0, 6, 9, 11, 12]
measured = StandardScaler().fit_transform(wine.data)
truth = measured[:, named] > np.median(measured[:, named], axis=0)
others = np.delete(measured, named, axis=1)
model = LogisticRegression(max_iter=1000)
sure = [cross_val_predict(model, others, c, cv=5, method="predict_proba")[:, 1] for c in truth.T]
soft = np.stack(sure, axis=1)

# %%
# Thresholds, in the format of a file for ``theodolite gate``.

enough = {
    "scores": [
        {"metric": "concept_prediction", "options": {"by": "auc"}, "at_least": 0.8},
        {"metric": "task_leakage_given_concept", "at_most": 0.25},
    ]
}

scores = {}
for name, values in {"soft": soft, "hard": np.round(soft)}.items():
    audit = theodolite.audit(values=values, truth=truth, labels=wine.target)
    for one in theodolite.gate(audit, enough).checks:
        print(f"{name}: {one.outcome}. {one.sentence}")
    scores[name] = {score.metric: score for score in audit.scores}

# %%
# The line is the threshold. If an interval crosses it, the score is not significantly better.

figure, panels = plt.subplots(1, 2, figsize=(8, 2.2), layout="constrained")
lines = {"concept_prediction": 0.8, "task_leakage_given_concept": 0.25}
for panel, (metric, line) in zip(panels, lines.items(), strict=True):
    for row, name in enumerate(scores):
        score = scores[name][metric]
        panel.plot([score.interval.low, score.interval.high], [row, row], color="tab:blue", lw=3)
        panel.plot(score.value, row, "o", color="tab:blue")
        panel.plot([null.value for null in score.nulls], [row] * len(score.nulls), "|k", ms=14)
    panel.axvline(line, color="tab:red", ls=":")
    panel.set_yticks([0, 1], list(scores))
    panel.set(ylim=(1.5, -0.5), xlabel=metric.replace("_", " "))

# sphinx_gallery_thumbnail_path = '_static/thumbnails/good_enough.svg'
