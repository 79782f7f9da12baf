"""Check a metric or a kind of evidence with the laws that those of theodolite obey."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theodolite._planted.examples import plant_example
from theodolite._runs.auditing.front import audit
from theodolite._scoring.request import Resampling
from theodolite.errors import printable
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load, save
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue, find_metric
from theodolite.testing.evidence_bytes import find_difference
from theodolite.testing.laws import LAWS, Law, hold
from theodolite.testing.planted_ends import check_planted_end, plant_end
from theodolite.testing.strategies import evidence_of, options_of

QUICK = Resampling(resamples=20)
ROWS = 24
"""Samples of planted evidence that each law sees."""


def check_metric(
    metric: str,
    *,
    evidence: st.SearchStrategy[Any] | None = None,
    perfect: Evidence | None = None,
    examples: int = 15,
) -> None:
    """Check that a metric of the catalogue obeys every law.

    Planted evidence comes first: the metric must beat its baselines on a perfect explanation, in
    the declared direction. Then every law sees drawn evidence.

    Args:
        metric: Its name.
        evidence: Strategy to draw evidence from. Defaults to one for its kind.
        perfect: Evidence on which the metric must be better than its baselines. Defaults to a
            perfect explanation of its kind, where one is known.
        examples: Number of draws for each law.

    Raises:
        AssertionError: The metric breaks a law; the message is a sentence that names it.
    """
    entry = find_metric(metric)
    check_card(entry)
    name, planted = ("perfect", perfect) if perfect is not None else plant_end(entry)
    if planted is not None:
        where = f"planted evidence {name!r}"
        for law in LAWS:
            with _sentence(entry, where):
                law(entry, planted[:ROWS], {}, 0)
        with _sentence(entry, where):
            check_planted_end(entry, planted)
    for law in LAWS:
        check_law(law, entry, evidence, examples)


def check_law(
    law: Law, entry: Metric, evidence: st.SearchStrategy[Any] | None = None, examples: int = 15
) -> None:
    """Check that a metric obeys one law on drawn evidence, over all its options."""
    bundles = evidence_of(entry.needs) if evidence is None else evidence

    @_quickly(examples)
    @given(bundles, options_of(entry), st.integers(0, 2**32 - 1))
    def obeys(bundle: Any, options: dict[str, Any], seed: int) -> None:
        chosen = "".join(f", {name}={choice!r}" for name, choice in options.items())
        with _sentence(entry, f"drawn evidence ({len(bundle)} samples{chosen})"):
            law(entry, bundle, options, seed)

    obeys()


@contextmanager
def _sentence(entry: Metric, where: str) -> Iterator[None]:
    """Name the metric and the evidence in the message of a broken law."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{entry.name}: {error} on {where}.") from error
    except Exception as error:
        if isinstance(error, ValueError) and "read-only" in str(error):  # how numpy refuses it
            text = "scoring changes an array of the evidence"
        else:
            text = f"it raises {type(error).__name__} ({printable(error, 100)})"
        raise AssertionError(f"{entry.name}: {text} on {where}.") from error


def check_card(entry: Metric) -> None:
    """Check that the card is complete, and that a score that decides has a threshold."""
    name, card = entry.name, entry.card
    for field in ("question", "interpretation", "limitations", "cost"):
        text = getattr(card, field)
        hold(len(text) > 10, f"{name}: `{field}` of the card is too short, {text!r}.")
    hold(
        card.question.endswith("?"),
        f"{name}: `question` of the card is not a question, {card.question!r}.",
    )
    hold(entry.cite and entry.title, f"{name}: `cite` or `title` is empty.")
    hold(entry.version >= 1, f"{name}: `version` is {entry.version}, but it starts at 1.")
    line = entry.threshold is not None or entry.tolerance is not None
    line = line or any(null.draws_in for null in entry.nulls)
    text = "it decides a verdict and has no threshold; declare `threshold` or `tolerance`"
    hold(line or not entry.decides, f"{name}: {text}.")


def check_kind(
    kind: type[Evidence], *, evidence: st.SearchStrategy[Any] | None = None, examples: int = 15
) -> None:
    """Check that nothing of a kind of evidence is lost in shards, in files and in an audit.

    Args:
        kind: The class.
        evidence: Strategy to draw evidence from. Defaults to one from its declaration.
        examples: Number of draws.

    Raises:
        AssertionError: Something is lost; the message is a sentence that names it.
    """
    name = getattr(kind, "kind", None)
    hold(isinstance(name, str) and name, f"{kind.__name__}: `kind` is missing; it is a name.")
    version = getattr(kind, "version", None)
    hold(isinstance(version, int), f"{name}: `version` is missing; it is a whole number.")
    hold(kind.layouts() or list(kind.inner_kinds()), f"{name}: it has no array; declare one.")
    bundles = evidence_of(kind) if evidence is None else evidence

    @_quickly(examples)
    @given(bundles, st.integers(0, 9))
    def survives(bundle: Any, at: int) -> None:
        check_cutting(bundle, at)
        check_saving(bundle)

    survives()
    if any(metric.needs is kind and not metric.opt_in for metric in catalogue().values()):
        check_audit(plant_example(kind, 0))


def check_cutting(bundle: Evidence, at: int) -> None:
    """Check that shards of evidence joined are the evidence."""
    at = min(at, len(bundle))
    parts = [part for part in (bundle[:at], bundle[at:]) if len(part)]
    different = find_difference(bundle, type(bundle).joined(parts))
    hold(not different, f"{bundle.kind}: `{different}` is different after cutting and joining.")


def check_saving(bundle: Evidence) -> None:
    """Check that evidence is the same after writing and reading it."""
    with tempfile.TemporaryDirectory() as folder:
        save(bundle, Path(folder) / "evidence")
        different = find_difference(bundle, load(Path(folder) / "evidence"))
    hold(not different, f"{bundle.kind}: `{different}` is different after saving and loading.")


def check_audit(bundle: Evidence) -> None:
    """Check that an audit has scores, can be saved with a report, and gives the same again."""
    result = audit(bundle, QUICK)
    hold(result.scores, f"{bundle.kind}: an audit of it has no score.")
    with tempfile.TemporaryDirectory() as folder:
        report = result.save(Path(folder) / "run")
        hold(report.stat().st_size > 0, f"{bundle.kind}: the report of an audit is empty.")
        again = audit(Path(folder) / "run", QUICK)
    before, after = ([(s.metric, repr(s.value)) for s in r.scores] for r in (result, again))
    hold(before == after, f"{bundle.kind}: a saved run has other scores than its audit.")


def _quickly(examples: int) -> settings:
    """Return test settings without deadline and with the same examples every time."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None,
        suppress_health_check=checks, report_multiple_bugs=False,
    )  # fmt: skip
