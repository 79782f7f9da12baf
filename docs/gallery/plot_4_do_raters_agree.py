"""
Do raters agree more than by chance?
====================================

Five raters rate how convincing an answer is, from 1 to 5. Here the raters are five classifiers,
each trained on different pixels of handwritten digits. Replace them with the raters of your study.
"""

# %%
# Every rater sees a random 20 % of the pixels and rates its confidence in the given digit.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import theodolite

images, labels = load_digits(return_X_y=True)
images = images / 16
random = np.random.default_rng(0)
named = np.where(random.random(len(labels)) < 0.7, labels, random.integers(0, 10, len(labels)))
ratings = np.empty((len(labels[1::2]), 5))
for rater in range(5):
    seen = random.choice(64, 13, replace=False)
    model = LogisticRegression(max_iter=500).fit(images[::2][:, seen], labels[::2])
    sure = model.predict_proba(images[1::2][:, seen])[np.arange(len(ratings)), named[1::2]]
    ratings[:, rater] = np.clip(np.ceil(5 * sure), 1, 5)

# %%
# Agreement of the raters, compared with permuted ratings.

evidence = theodolite.RatingEvidence(ratings=ratings, scale=[1, 2, 3, 4, 5])
scores = {score.metric: score for score in theodolite.audit(evidence).scores}
shown = ["rater_agreement", "pairwise_agreement", "krippendorff_alpha", "rater_correlation"]
for name in shown:
    score = scores[name]
    print(f"{name:20} {score.value:.3f} [{score.interval.low:.3f}, {score.interval.high:.3f}]")

figure, axes = plt.subplots(figsize=(7, 2.8))
for row, name in enumerate(shown):
    score = scores[name]
    axes.plot([score.interval.low, score.interval.high], [row, row], color="tab:blue", lw=3)
    axes.plot(score.value, row, "o", color="tab:blue")
    axes.plot([null.value for null in score.nulls], [row] * len(score.nulls), "|k", ms=16)
axes.set_yticks(range(len(shown)), shown)
axes.set_ylim(len(shown) - 0.5, -0.5)
axes.set(xlabel="agreement; ticks: baselines", title="Five raters, 898 answers")
figure.tight_layout()

# sphinx_gallery_thumbnail_path = '_static/thumbnails/do_raters_agree.svg'
