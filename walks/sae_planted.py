"""A trained dictionary and random directions on known features (needs theodolite[language]).

Activations are sums of a few of 96 directions in 24 dimensions, as in the theory of superposition.
A concept is that a direction occurs in a text. A dictionary that was trained finds the directions;
one of random directions does not, and no dictionary tells labels that were shuffled.
"""

import numpy as np
import torch

import theodolite

random = np.random.default_rng(0)
texts, length, features, wide = 300, 8, 96, 24
active = random.random((texts, length, features)) < 0.02
directions = random.normal(size=(features, wide))
directions /= np.linalg.norm(directions, axis=1, keepdims=True)
strength = active * (1 + random.random(active.shape))
activations = (strength @ directions + 0.05 * random.normal(size=(texts, length, wide))).astype(
    "f4"
)
concepts = np.argsort(active.any(axis=1).mean(axis=0))[-8:]
truth = active.any(axis=1)[:, concepts]
tokens = random.integers(0, 500, (texts, length))  # words say nothing about these concepts


class TopK(torch.nn.Module):
    """The plainest sparse autoencoder, with the two functions that are needed."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.W_dec = torch.nn.Parameter(torch.nn.functional.normalize(torch.randn(192, wide)))
        self.W_enc = torch.nn.Parameter(self.W_dec.detach().T.clone())

    def encode(self, hidden):
        before = hidden @ self.W_enc
        top = before.topk(3, dim=-1)
        return torch.zeros_like(before).scatter(-1, top.indices, top.values.relu())

    def decode(self, codes):
        return codes @ self.W_dec


untrained, trained = TopK(), TopK()
optimizer = torch.optim.Adam(trained.parameters(), lr=3e-3)
flat = torch.as_tensor(activations.reshape(-1, wide))
for _ in range(700):
    batch = flat[torch.randint(len(flat), (256,))]
    loss = ((trained.decode(trained.encode(batch)) - batch) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def answer(dictionary, labels):
    evidence = theodolite.dictionary_evidence(dictionary, activations, tokens, labels)
    result = theodolite.audit(evidence, resamples=200)
    print(result)
    return result.verdicts["exists"].answer


assert answer(trained, truth) == "yes"
assert answer(untrained, truth) != "yes"
assert answer(trained, random.permutation(truth)) != "yes"
