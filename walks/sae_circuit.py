"""Two latents detect a concept equally well, one causes it (needs theodolite[language]).

A small network writes two directions when a word of a topic was read: the next layer reads one of
them and nothing reads the other. Probing cannot tell them apart; ablating and steering can.
"""

from types import SimpleNamespace

import numpy as np
import torch

import theodolite

TOPIC, ANSWER, WIDE = range(1, 9), 30, 32
torch.manual_seed(0)
rows = torch.linalg.qr(torch.randn(WIDE, WIDE)).Q  # orthogonal directions
cause, echo, others = rows[0], rows[1], rows[2:]


class Block(torch.nn.Module):
    def forward(self, hidden, tokens):
        seen = ((tokens >= 1) & (tokens <= 8)).cumsum(1).clamp(max=1)
        return hidden + 2 * seen[..., None] * (cause + echo)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding.from_pretrained(0.3 * torch.randn(31, 16) @ others[:16])
        self.block = Block()
        self.read = torch.nn.Parameter(0.2 * torch.randn(16, 31))

    def forward(self, input_ids, **_):
        hidden = self.block(self.words(input_ids), input_ids)
        logits = (hidden @ others[:16].T) @ self.read
        logits[..., ANSWER] += 3 * (hidden @ cause - 0.5).relu()  # the circuit
        return SimpleNamespace(logits=logits)


class Dictionary(torch.nn.Module):
    """The cause, the echo, and directions drawn at random."""

    W_dec = torch.cat([rows[:2], torch.nn.functional.normalize(torch.randn(80, WIDE))])

    def encode(self, hidden):
        return (hidden @ self.W_dec.T - 0.3).relu()

    def decode(self, codes):
        return codes @ self.W_dec


random = np.random.default_rng(0)
tokens = random.integers(9, 30, (200, 6))
about = random.random(200) < 0.4
tokens[about, random.integers(0, 5, about.sum())] = random.integers(1, 9, about.sum())

network = theodolite.HookedModel(Network().eval(), "block", start=0)
result = theodolite.causal_effects(
    network,
    tokens.tolist(),
    Dictionary(),
    about[:, None],
    named={0: 0, 1: 0},
    targets={0: [ANSWER]},
)
for effect in result:
    print(effect.answer, "-", effect.sentence)
assert [(effect.latent, effect.answer) for effect in result] == [
    (0, "yes"), (0, "yes"), (1, "no"), (1, "no"),
]  # fmt: skip
