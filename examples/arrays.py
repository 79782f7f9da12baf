"""From arrays alone: does a concept bottleneck that reads digits name what is there, and leak?

python examples/arrays.py
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import theodolite

CONCEPTS = {"loop": (0, 6, 8, 9), "straight line": (1, 4, 7, 9), "flat top": (5, 7),
            "round below": (0, 3, 5, 6, 8), "bar below": (2,), "crossing": (4, 8)}  # fmt: skip

images, labels = load_digits(return_X_y=True)
belongs = np.array([[digit in digits for digit in range(10)] for digits in CONCEPTS.values()])
truth = belongs[:, labels].T
train, test = slice(None, 1200), slice(1200, None)

detectors = [LogisticRegression(C=0.01, max_iter=500).fit(images[train], c[train]) for c in truth.T]
values = np.stack([one.predict_proba(images)[:, 1] for one in detectors], axis=1)
head = LogisticRegression(C=100, fit_intercept=False, max_iter=2000)
head.fit(values[train], labels[train])

result = theodolite.audit(
    values=values[test],
    truth=truth[test],
    labels=labels[test],
    predicted=head.predict(values[test]),
    weights=head.coef_.T,
    class_truth=belongs.astype(float),
    concepts=list(CONCEPTS),
)
print(result)
print("report:", result.report("digits.html"))
