"""A network with a known circuit, and a dictionary of it whose causes and echoes are known.

From the first word of a concept on, a block writes two directions: a cause, which raises the logit
of the concept's answer, and an echo, which nothing reads. Both detect the concept; one causes.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

WIDE, CONCEPTS, WORDS, FILLERS, RANDOM_ROWS = 48, 4, 8, 8, 120
FIRST_ANSWER = 1 + CONCEPTS * WORDS + FILLERS
VOCABULARY = FIRST_ANSWER + CONCEPTS


class Writer(torch.nn.Module):
    """Adds cause and echo of each concept from its first word on."""

    def __init__(self, rows: torch.Tensor) -> None:
        super().__init__()
        self.rows = torch.nn.Parameter(rows)

    def forward(self, hidden: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        concept = torch.where(
            (tokens > 0) & (tokens <= CONCEPTS * WORDS), (tokens - 1) // WORDS, -1
        )
        own = concept[..., None] == torch.arange(CONCEPTS)
        seen = own.cumsum(dim=1).clamp(max=1).to(hidden.dtype)
        both = self.rows[:CONCEPTS] + self.rows[CONCEPTS : 2 * CONCEPTS]
        return hidden + 2 * seen @ both


class Circuit(torch.nn.Module):
    """As transformers' causal models are called."""

    def __init__(self, seed: int, noise: float = 0.02) -> None:
        super().__init__()
        random = np.random.default_rng(seed)
        self.basis = np.linalg.qr(random.normal(size=(WIDE, WIDE)))[0]
        own = 0.3 * random.normal(size=(VOCABULARY, 8)) @ self.basis[8:16]
        own = own + noise * random.normal(size=own.shape)
        self.embedding = torch.nn.Embedding.from_pretrained(torch.tensor(own, dtype=torch.float32))
        self.block = Writer(torch.tensor(self.basis[:8], dtype=torch.float32))
        read = random.normal(size=(8, VOCABULARY))
        self.read = torch.nn.Parameter(torch.tensor(self.basis[8:16].T @ read, dtype=torch.float32))
        self.config = SimpleNamespace(model_type="circuit", _name_or_path="circuit")

    def forward(self, input_ids: torch.Tensor, **_: Any) -> Any:
        hidden = self.block(self.embedding(input_ids), input_ids)
        logits = hidden @ self.read
        raised = 3 * (hidden @ self.block.rows[:CONCEPTS].T - 0.5).relu()
        logits[..., FIRST_ANSWER:] = logits[..., FIRST_ANSWER:] + raised
        return SimpleNamespace(logits=logits)


class CircuitDictionary(torch.nn.Module):
    """Cause rows, echo rows, and random ones."""

    def __init__(self, circuit: Circuit, seed: int) -> None:
        super().__init__()
        rows = np.random.default_rng([seed, 1]).normal(size=(RANDOM_ROWS, WIDE))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        whole = np.concatenate([circuit.basis[: 2 * CONCEPTS], rows])
        self.W_dec = torch.nn.Parameter(torch.tensor(whole, dtype=torch.float32))

    def encode(self, hidden: torch.Tensor) -> torch.Tensor:
        return (hidden @ self.W_dec.T - 0.3).relu()

    def decode(self, codes: torch.Tensor) -> torch.Tensor:
        return codes @ self.W_dec


def circuit_texts(seed: int, n: int = 400, length: int = 8) -> tuple[list[list[int]], np.ndarray]:
    """Texts of fillers, with a word of each concept in about a third of them."""
    random = np.random.default_rng([seed, 2])
    ids = 1 + CONCEPTS * WORDS + random.integers(0, FILLERS, (n, length))
    truth = random.random((n, CONCEPTS)) < 0.35
    for concept in range(CONCEPTS):
        place = 2 * concept + random.integers(0, 2, n)
        word = 1 + concept * WORDS + random.integers(0, WORDS, n)
        rows = np.flatnonzero(truth[:, concept])
        ids[rows, place[rows]] = word[rows]
    return ids.tolist(), truth
