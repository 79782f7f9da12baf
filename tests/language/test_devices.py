"""The hot path stays on the device: tensors without values refuse what needs the host."""

from typing import Any

import numpy as np
import pytest

from theodolite.language.dictionaries.torch_codes import DeviceDictionary, TopCodes
from theodolite.language.models.chance_draws import RandomRows, Spread, _largest

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
