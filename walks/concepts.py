"""Audit concept values: honest ones pass, leaking, permuted and random ones do not."""

import numpy as np

import theodolite

random = np.random.default_rng(0)
truth = random.random((600, 8)) < 0.4
# Two concepts and chance decide the class, so the concepts leave something open about it.
labels = (truth[:, 0] + truth[:, 1] + random.normal(size=600) > 1).astype(int)
honest = truth + random.normal(scale=0.4, size=truth.shape)

explanations = {
    "honest": honest,
    "leaking": honest + 0.4 * labels[:, None],  # every value carries some of the class
    "permuted": random.permutation(honest),  # each image gets the values of another image
    "random": random.normal(size=truth.shape),
}
answers = {}
for name, values in explanations.items():
    result = theodolite.audit_concepts(values, truth, labels, resamples=200)
    print(f"== {name}\n{result}\n")
    answers[name] = [result.verdicts[question].answer for question in ("exists", "leak_free")]

assert answers["honest"][0] == "yes"
assert answers["honest"][1] in ("yes", "inconclusive")  # noise limits what can be excluded
assert answers["leaking"] == ["yes", "no"]
assert answers["permuted"][0] == answers["random"][0] == "no"
