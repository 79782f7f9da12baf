"""Latents as a surrogate of a logit: what they add, and what they leave over by name."""

import numpy as np
import pytest

from theodolite.errors import EvidenceError
from theodolite.evidence.surrogate_settings import compute_outputs, make_perfect
from theodolite.language.texts.token_surrogate import token_surrogate
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.faithful.frame import compute_surrogate_outputs

ROWS = np.array([[0.6, 0.8, 0.0], [0.8, -0.6, 0.0], [0.3, 0.0, 0.953939], [-0.5, 0.866025, 0.0]])
CODES = np.array([[0.5, 1.5, 0.4, 0.0]])
BIAS = np.array([0.05, 0.0, 0.1])
H = CODES @ ROWS + BIAS + [0.1, 0.1, 0.0]


def test_worked_numbers() -> None:
    result = token_surrogate(H, [1.0, -0.5, 0.25], ROWS, CODES, BIAS)
    expected = {
        "latent 0": 0.1, "latent 1": 1.65, "latent 2": 0.215394, "latent 3": 0.0,
        "constant": 0.075, "error node": 0.05,
    }  # fmt: skip
    assert result.parts() == pytest.approx(expected, abs=1e-6)
    evidence = result.evidence
    assert evidence.outputs == pytest.approx(2.090394, abs=1e-6)
    assert compute_surrogate_outputs(evidence) == pytest.approx(2.040394, abs=1e-6)
    for name, number in (("surrogate_error", 0.05), ("surrogate_relative_error", 0.023919)):
        value = find_metric(name).state.of(evidence).value()
        assert float(np.ravel(value)[0]) == pytest.approx(number, abs=1e-6), name


def test_parts_make_up_every_logit() -> None:
    random = np.random.default_rng(0)
    h, w, rows = (random.normal(size=shape) for shape in ((7, 5), (3, 5), (4, 5)))
    codes = np.maximum(random.normal(size=(7, 4)), 0)
    result = token_surrogate(h, w, rows, codes, random.normal(size=5))
    for token in range(7):
        for logit in range(3):
            assert sum(result.parts(token, logit).values()) == pytest.approx(h[token] @ w[logit])
    for surrogate in ("linear", "rebuilt"):
        left = result.evidence.outputs - compute_surrogate_outputs(result.evidence, surrogate)
        assert left == pytest.approx(result.error_node)
    assert compute_outputs(make_perfect(result.evidence)) == pytest.approx(
        compute_surrogate_outputs(make_perfect(result.evidence))
    )


@pytest.mark.parametrize(
    "changed",
    [{"codes": CODES[:, :3]}, {"decoder": ROWS[:, :2]}, {"directions": [1.0, 2.0]},
     {"decoder_bias": [1.0]}, {"activations": H * np.nan}, {"codes": CODES[0]}],
)  # fmt: skip
def test_arrays_that_do_not_fit(changed: dict[str, np.ndarray]) -> None:
    arrays = {"activations": H, "directions": [1.0, -0.5, 0.25], "decoder": ROWS, "codes": CODES}
    with pytest.raises(EvidenceError):
        token_surrogate(**{**arrays, **changed})
