"""Audit LIME weights of a table, with and without its bins (needs theodolite[tabular])."""

import numpy as np
from lime.lime_tabular import LimeTabularExplainer
from sklearn.ensemble import GradientBoostingClassifier

import theodolite

# A planted model: the sign of feature 0 decides whether feature 1 or feature 2 counts.
random = np.random.default_rng(0)
rows = random.normal(size=(1060, 8))
y = np.where(rows[:, 0] > 0, rows[:, 1], rows[:, 2]) > 0
train, test = rows[:1000], rows[1000:]
model = GradientBoostingClassifier(n_estimators=50, random_state=0).fit(train, y[:1000])


def explain(**options):
    """Return LIME's explanation of each test row."""
    explainer = LimeTabularExplainer(train, random_state=0, **options)
    return [
        explainer.explain_instance(row, model.predict_proba, num_features=8, num_samples=500)
        for row in test
    ]


def audit(explanations, **options):
    """Audit a list of explanations; LIME does not keep the rows, so they are passed."""
    result = theodolite.audit_attributions(
        explanations, test, model=model, background=train[:100], **options
    )
    print(result)
    return result.verdicts["faithful"]


# As shipped, LIME cuts each feature into quarters: a weight says what being in the quarter adds.
binned = audit(explain())
assert binned.answer == "partly"  # better than another row's weights, below the best possible

# Without bins, weights are slopes. A slope is no contribution: say so with `lime_slopes=True`,
# and each slope is multiplied by (x - mean) / sd of the background.
slopes = explain(discretize_continuous=False)
unscaled, scaled = audit(slopes), audit(slopes, lime_slopes=True)
assert unscaled.summary.startswith("One global ranking for all rows.")
assert scaled.answer == "partly"
assert scaled.summary.startswith("Row-specific")
