"""A metric, or a kind of evidence, put through everything that ours are put through."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theodolite._planted.examples import plant_example
from theodolite._runs.auditing.front import audit
from theodolite._scoring.request import Resampling
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load, save
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue, find_metric
from theodolite.testing.evidence_bytes import difference_between
from theodolite.testing.laws import LAWS, Law, hold
from theodolite.testing.strategies import evidence_of, options_of

QUICK = Resampling(resamples=20)


def check_metric(
    metric: str, *, evidence: st.SearchStrategy[Any] | None = None, examples: int = 15
) -> None:
    """Put a metric of the catalogue through all laws; raises if it breaks one.

    Args:
        metric: Its name.
        evidence: What to draw evidence from; a strategy for its kind if not given.
        examples: How many bundles each law sees.
    """
    entry = find_metric(metric)
    check_card(entry)
    for law in LAWS:
        check_law(law, entry, evidence, examples)


def check_law(
    law: Law, entry: Metric, evidence: st.SearchStrategy[Any] | None = None, examples: int = 15
) -> None:
    """Put a metric through one law, over all its options."""
    bundles = evidence_of(entry.needs) if evidence is None else evidence

    @_quickly(examples)
    @given(bundles, options_of(entry), st.integers(0, 2**32 - 1))
    def obeys(bundle: Any, options: dict[str, Any], seed: int) -> None:
        law(entry, bundle, options, seed)

    obeys()


def check_card(entry: Metric) -> None:
    """What a reader must know is written down, and a score that decides has a line."""
    for text in (
        entry.card.question,
        entry.card.interpretation,
        entry.card.limitations,
        entry.card.cost,
    ):
        hold(len(text) > 10, f"the card of {entry.name} says {text!r}")
    hold(
        entry.card.question.endswith("?"), f"{entry.name} asks {entry.card.question!r}, no question"
    )
    hold(entry.cite and entry.title and entry.version >= 1, f"{entry.name}: cite, title, version")
    line = entry.threshold is not None or entry.tolerance is not None
    line = line or any(null.draws_in for null in entry.nulls)
    hold(line or not entry.decides, f"{entry.name} decides, and has no line to decide by")


def check_kind(
    kind: type[Evidence], *, evidence: st.SearchStrategy[Any] | None = None, examples: int = 15
) -> None:
    """Put a kind of evidence through what the engine does with it; raises if something is lost.

    Args:
        kind: The class.
        evidence: What to draw bundles from; a strategy from its declaration if not given.
        examples: How many bundles are tried.
    """
    hold(isinstance(kind.kind, str) and kind.kind, f"{kind.__name__} has no `kind`")
    hold(isinstance(kind.version, int), f"{kind.__name__} has no `version`")
    hold(kind.layouts() or list(kind.inner_kinds()), f"{kind.__name__} has no array")
    bundles = evidence_of(kind) if evidence is None else evidence

    @_quickly(examples)
    @given(bundles, st.integers(0, 9))
    def survives(bundle: Any, at: int) -> None:
        cut_and_joined(bundle, at)
        saved_and_loaded(bundle)

    survives()
    if any(metric.needs is kind and not metric.opt_in for metric in catalogue().values()):
        audited_and_kept(plant_example(kind, 0))


def cut_and_joined(bundle: Evidence, at: int) -> None:
    """Pieces of a bundle put together are the bundle."""
    at = min(at, len(bundle))
    parts = [part for part in (bundle[:at], bundle[at:]) if len(part)]
    different = difference_between(bundle, type(bundle).joined(parts))
    hold(not different, f"{different} is another after cutting and joining")


def saved_and_loaded(bundle: Evidence) -> None:
    """A bundle that was written is read as it was."""
    with tempfile.TemporaryDirectory() as folder:
        save(bundle, Path(folder) / "evidence")
        different = difference_between(bundle, load(Path(folder) / "evidence"))
    hold(not different, f"{different} is another after saving and loading")


def audited_and_kept(bundle: Evidence) -> None:
    """An audit of it has scores, and can be saved with a report and audited again."""
    result = audit(bundle, QUICK)
    hold(result.scores, f"no score of {bundle.kind} evidence")
    with tempfile.TemporaryDirectory() as folder:
        report = result.save(Path(folder) / "run")
        hold(report.stat().st_size > 0, "the report is empty")
        again = audit(Path(folder) / "run", QUICK)
    before, after = ([(s.metric, repr(s.value)) for s in r.scores] for r in (result, again))
    hold(before == after, "the saved run has other scores")


def _quickly(examples: int) -> settings:
    """No deadline, the same examples every time."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None,
        suppress_health_check=checks,
    )  # fmt: skip
