"""Audit SHAP values of a table: exact ones pass, others do not (needs theodolite[tabular])."""

import numpy as np
import shap
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import train_test_split

import theodolite


def explain(rows, labels):
    """Fit a model, and explain 60 test rows by exact SHAP values."""
    train, test, known, _ = train_test_split(rows, labels, test_size=60, random_state=0)
    model = GradientBoostingClassifier(n_estimators=50, random_state=0).fit(train, known)
    return shap.TreeExplainer(model, train[:100])(test), {"model": model, "background": train[:100]}


def answer(result):
    """Return the answer to "faithful"."""
    return result.verdicts["faithful"].answer


# One call per explanation. shap brings the rows, the base value and the names of the features.
cancer, asked = explain(*load_breast_cancer(return_X_y=True))
result = theodolite.audit_attributions(cancer, **asked)
print(result)
assert answer(result) == "yes"

# A planted model: the sign of feature 0 decides whether feature 1 or feature 2 counts.
random = np.random.default_rng(0)
rows = random.normal(size=(1000, 8))
exact, asked = explain(rows, np.where(rows[:, 0] > 0, rows[:, 1], rows[:, 2]) > 0)

# Several methods are scored on the same answers of the model, so that only quality differs.
shuffled = random.permutation(exact.values)  # each row gets the values of another row
one_list = np.tile(np.abs(exact.values).mean(axis=0), (60, 1))
noise = random.normal(size=exact.values.shape)
methods = {"exact": exact, "shuffled": shuffled, "one list": one_list, "noise": noise}
results = theodolite.audit_attributions(methods, exact.data, **asked)
answers = {name: answer(result) for name, result in results.items()}
print(answers)
assert answers == {"exact": "yes", "shuffled": "no", "one list": "partly", "noise": "no"}
assert "global ranking" in results["one list"].verdicts["faithful"].summary
