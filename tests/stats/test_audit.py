"""A whole audit without the compiled library."""

import numpy as np
import pytest

import theodolite
from theodolite._stats.native import library


@pytest.mark.skipif(library.load_library() is None, reason="no compiled library here")
def test_an_audit_in_numpy_gives_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    truth, labels = random.random((90, 4)) < 0.4, random.integers(3, size=90)
    values = truth + 0.7 * random.normal(size=truth.shape) + 0.3 * labels[:, None]
    evidence = theodolite.ConceptEvidence(values=values, truth=truth, labels=labels)
    answers = []
    for chosen in ("native", "numpy"):
        monkeypatch.setenv(library.KERNELS_VARIABLE, chosen)
        audit = theodolite.audit(evidence, resamples=50)
        answers.append({str(score): score.value for score in audit.scores})
    native, numpy = answers
    assert len(native) > 5 and native.keys() == numpy.keys()
    np.testing.assert_allclose([*native.values()], [*numpy.values()], rtol=1e-9)
