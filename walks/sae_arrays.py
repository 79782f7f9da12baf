"""Do codes of your own tell concepts better than random directions? (needs theodolite[language])

Activations and codes are plain arrays. Two latents fire with two concepts, all others at random.
"""

import numpy as np

import theodolite

random = np.random.default_rng(0)
texts, length, latents = 300, 8, 96
truth = random.random((texts, 2)) < 0.5
activations = random.normal(size=(texts, length, 24))
codes = random.exponential(size=(texts, length, latents)) * (
    random.random((texts, length, latents)) < 0.05
)
codes[:, 0, :2] = np.where(truth, 1 + random.random((texts, 2)), 0)  # at the first token
tokens = random.integers(0, 500, (texts, length))

names = ["about the sea", "in French"]
evidence = theodolite.dictionary_evidence(codes, activations, tokens, truth, concepts=names)
result = theodolite.audit(evidence)
print(result)
assert result.verdicts["exists"].answer == "yes", result

# the same codes, asked for labels that have nothing to do with them
others = theodolite.dictionary_evidence(codes, activations, tokens, random.permutation(truth))
result = theodolite.audit(others)
assert result.verdicts["exists"].answer != "yes", result
