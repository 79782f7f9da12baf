"""Everything that the evidence allows, in one call."""

from collections.abc import Sequence
from dataclasses import dataclass

from theodolite.contracts.bundle import Evidence
from theodolite.contracts.evidence import ConceptEvidence, LocationEvidence
from theodolite.contracts.made import Progress, silent
from theodolite.contracts.score import Score
from theodolite.errors import EvidenceError
from theodolite.execution.evaluate import Request, Resampling, evaluate
from theodolite.execution.verdict import QUESTIONS, Verdict, verdict
from theodolite.metrics._base import Entry
from theodolite.metrics._catalogue import catalogue


@dataclass(frozen=True)
class Unanswered:
    """A score that could not be had, and what it would need."""

    metric: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Audit:
    """Scores, the verdicts they lead to, and what could not be asked."""

    scores: tuple[Score, ...]
    unanswered: tuple[Unanswered, ...]
    requests: tuple[Request, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One per question."""
        return verdicts(self.scores)


def audit(
    evidence: Evidence | Sequence[Evidence],
    resampling: Resampling | None = None,
    progress: Progress = silent,
) -> Audit:
    """Put every question to the evidence that it can answer.

    Example:
        >>> import theodolite
        >>> from theodolite.datasets.synthetic import planted_concepts
        >>> found = theodolite.audit(planted_concepts())
        >>> [(v.question, v.answer) for v in found.verdicts if v.answer != "not asked"]
        [('exists', 'yes')]
    """
    bundles = [evidence] if isinstance(evidence, Evidence) else list(evidence)
    return answer([bundles], None, resampling or Resampling(), progress)


def answer(
    seeds: Sequence[Sequence[Evidence]],
    requests: Sequence[Request] | None,
    resampling: Resampling,
    progress: Progress = silent,
) -> Audit:
    """Scores from the bundles of each seed: those requested, or all that the evidence allows."""
    by_kind = [_by_kind(bundles) for bundles in seeds]
    unanswered: list[Unanswered] = []
    if requests is None:
        requests, unanswered = requests_for(by_kind[0])
    scores: list[Score] = []
    for number, request in enumerate(requests):
        progress("scores", number, len(requests))
        needs = request.entry.needs
        if needs not in by_kind[0]:
            raise EvidenceError(request.entry.name, f"no {needs.kind} evidence", "some")
        scores += evaluate(request, [kinds[needs] for kinds in by_kind], resampling)
    progress("scores", len(requests), len(requests))
    return Audit(tuple(scores), tuple(unanswered), tuple(requests))


def _by_kind(bundles: Sequence[Evidence]) -> dict[type[Evidence], Evidence]:
    """Bundles by kind; concept evidence inside a location bundle serves if there is no other."""
    found: dict[type[Evidence], Evidence] = {type(bundle): bundle for bundle in bundles}
    for bundle in bundles:
        if isinstance(bundle, LocationEvidence):
            found.setdefault(ConceptEvidence, bundle.explained)
    return found


def requests_for(
    by_kind: dict[type[Evidence], Evidence],
) -> tuple[list[Request], list[Unanswered]]:
    """The scores that the evidence allows, each with the first options that it allows."""
    requests, unanswered = [], []
    for entry in catalogue().values():
        evidence = by_kind.get(entry.needs)
        if evidence is None:
            unanswered.append(Unanswered(entry.name, (f"{entry.needs.kind} evidence",)))
            continue
        missing = entry.missing(evidence, {})
        fallback = None if not missing else _fallback(entry, evidence)
        if missing and fallback is None:
            unanswered.append(Unanswered(entry.name, tuple(missing)))
            continue
        options = _fitting(entry, evidence, fallback or {})
        if options is None:
            unanswered.append(Unanswered(entry.name, ("more concepts",)))
            continue
        requests.append(Request(entry, options))
        if entry.detail:
            requests.append(Request(entry, {**options, "over": "classes"}))
    return requests, unanswered


def _fallback(entry: Entry, evidence: Evidence) -> dict[str, str] | None:
    """Another choice of an option that needs less: rank by value where there are no weights."""
    for option in entry.uses_if:
        for choice in entry.choices(option):
            if not entry.missing(evidence, {option: choice}):
                return {option: choice}
    return None


def _fitting(entry: Entry, evidence: Evidence, options: dict[str, str]) -> dict[str, object] | None:
    """Explanations cannot name more concepts than there are (to be located)."""
    fitted: dict[str, object] = dict(options)
    if "top" in entry.sweeps:
        n = len(getattr(evidence, "concepts", ()))
        if isinstance(evidence, LocationEvidence):
            n = int((evidence.part_of >= 0).sum())
        fitted["top"] = tuple(top for top in entry.default("top") if top <= n)
        if not fitted["top"]:
            return None
    return fitted


def verdicts(scores: Sequence[Score], headlines: Sequence[Score] = ()) -> tuple[Verdict, ...]:
    """One verdict per question: from its headline score, else from the last of its first metric."""
    found = []
    for question, asks in QUESTIONS.items():
        chosen = next((s for s in headlines if s.question == question), None)
        if chosen is None:
            chosen = _headline([s for s in scores if s.question == question])
        if chosen is None:
            found.append(Verdict(question, asks, "not asked", "Not asked in this run."))
        else:
            found.append(verdict(chosen))
    return tuple(found)


def _headline(scores: Sequence[Score]) -> Score | None:
    """Of the question's first metric the score with the options that its card quotes."""
    if not scores:
        return None
    wanted = catalogue()[scores[0].metric].headline
    of_first = [s for s in scores if s.metric == scores[0].metric]
    return max(of_first, key=lambda s: sum(s.options.get(k) == v for k, v in wanted.items()))
