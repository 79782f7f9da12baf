"""Add a metric: declare it in a file, score it, and check it against the laws.

Run it with ``pip install 'theodolite[testing]'``.
"""

import numpy as np
from concept_brier import concept_brier

import theodolite
from theodolite.testing import check_metric

# A model that is 60 % right about every concept: the error is the square of the other 40 %.
random = np.random.default_rng(0)
truth = random.random((300, 5)) < 0.3
values = 0.6 * truth + 0.4 * ~truth

# The declared name is a score like any other, with an interval and a baseline.
score = theodolite.score("concept_brier", values=values, truth=truth)
print(f"concept_brier {score.value:.3f}, {score.null.name} {score.null.value:.3f}")
assert abs(score.value - 0.16) < 1e-12
assert score.interval.high < score.null.value, "better than the values of another sample"

# The decorator leaves the function as it is.
assert np.allclose(concept_brier(values, truth), 0.16)

# An audit includes it. Without a validation record no verdict is based on it.
result = theodolite.audit(values=values, truth=truth, resamples=100)
assert "concept_brier" in {score.metric for score in result.scores}
assert any("concept_brier has no validation record" in note for note in result.notes)

# The laws: bounds, direction, undefined samples, shards, weights, order and more.
check_metric("concept_brier", examples=5)
print("concept_brier obeys every law")
