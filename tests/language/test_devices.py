"""The hot path stays on the device: tensors without values refuse what needs the host."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from theodolite.language.dictionaries.torch_codes import DeviceDictionary, TopCodes
from theodolite.language.models import chance_draws, splice
from theodolite.language.models.chance_draws import RandomRows, Spread, _largest
from theodolite.language.models.hooked import HookedModel

torch = pytest.importorskip("torch")
HIDDEN = np.random.default_rng(0).normal(size=(50, 12)).astype(np.float32)


def without_values(source: Any) -> tuple[Any, TopCodes, Any]:
    with torch.no_grad():
        own = DeviceDictionary(source)
        shapes = {name: tuple(part.shape) for name, part in own.tensors.items()}
        own.tensors.update({n: torch.empty(s, device="meta") for n, s in shapes.items()})
        hidden = torch.empty(50, 12, device="meta")
        codes = own.largest(hidden)
        rebuilt = own.rebuild(hidden, codes)
        directions = torch.empty(12, 40, device="meta")
        best = _largest(hidden, [(0, directions), (40, directions)], 3, None)
        again = _largest(hidden, [(80, directions)], 3, best)
        assert again[0].device.type == "meta" and tuple(again[1].shape) == (50, 3)
    return own, codes, rebuilt


def test_codes_of_a_topk_dictionary_need_nothing_of_the_host() -> None:
    source = RandomRows(0, 1, 64).as_dictionary(HIDDEN, Spread.of(HIDDEN), 5)
    _, codes, rebuilt = without_values(source)
    assert tuple(codes.values.shape) == (50, 5) and tuple(rebuilt.shape) == (50, 12)
    assert codes.indices.device.type == rebuilt.device.type == "meta"


def test_half_precision_activates_nearly_the_same_latents() -> None:
    source = RandomRows(0, 1, 64).as_dictionary(HIDDEN, Spread.of(HIDDEN), 5)
    hidden = torch.as_tensor(HIDDEN)
    active = []
    for dtype in ("float32", "bfloat16"):
        codes = DeviceDictionary(source, dtype=dtype).largest(hidden.to(getattr(torch, dtype)))
        dense = torch.zeros(50, 64, dtype=codes.values.dtype)
        active.append(dense.scatter(1, codes.indices, codes.values) > 0)
    same = (active[0] & active[1]).sum() / active[0].sum()
    assert same > 0.9, same  # of 250 codes; a near tie at the fifth place may go either way


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.matrix = torch.nn.Parameter(torch.empty(12, 12))

    def forward(self, hidden: Any) -> Any:
        return hidden @ self.matrix


class Small(torch.nn.Module):
    """Words, a block whose output is looked at, and logits; without values."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Parameter(torch.empty(30, 12))
        self.block = Block()

    def forward(self, input_ids: Any, **_: Any) -> Any:
        hidden = self.block(torch.nn.functional.embedding(input_ids, self.words))
        return SimpleNamespace(logits=hidden.relu() @ self.words.T)


def test_network_codes_and_draws_leave_the_device_in_one_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a device without values, mixing devices or reading a number off one raises."""
    copied = []

    def to_host(tensor: Any) -> np.ndarray:
        copied.append((tensor.device.type, tensor.numel()))
        return np.zeros(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))

    for module in (splice, chance_draws):
        monkeypatch.setattr(module, "to_host", to_host)
    source = RandomRows(0, 1, 64).as_dictionary(HIDDEN, Spread.of(HIDDEN), 5)
    copied.clear()
    ids = [[1, 2, 3], [4, 5], [6, 7, 8, 9]]
    network = HookedModel(Small().to("meta"), "block", start=0)
    own = DeviceDictionary(source, "meta")
    losses = splice.compute_next_token_losses(
        network, ids, {"spliced": splice.splice_dictionary(own)}
    )
    starts = np.array([0, 20, 35, 50])
    rows, spread = RandomRows(0, 2, 64), Spread.of(HIDDEN)
    chance_draws.pooled_draw(rows, HIDDEN, starts, spread, 5, device="meta", block=16)
    assert set(losses) == {"loss", "loss_spliced", "divergence_spliced"}
    assert {device for device, _ in copied} == {"meta"}
    # a mask and a number for each place of three texts, then 5 codes of each token
    assert [n for _, n in copied[-2:]] == [50 * 5] * 2
    assert all(n == 3 * 5 for _, n in copied[:-2])
