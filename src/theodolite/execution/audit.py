"""Everything that the evidence allows, in one call."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite.contracts.bundle import Evidence
from theodolite.contracts.evidence import ConceptEvidence, EmbeddingEvidence, LocationEvidence
from theodolite.contracts.made import Progress, silent
from theodolite.contracts.score import Question, Score
from theodolite.contracts.shards import Held, Shards, clusters_of
from theodolite.contracts.surrogate import SurrogateEvidence
from theodolite.contracts.work import Workers
from theodolite.errors import EvidenceError
from theodolite.execution.evaluate import Asked, Request, Resampling, evaluate_all
from theodolite.execution.verdict import QUESTIONS, Verdict, verdict
from theodolite.metrics._base import Entry
from theodolite.metrics._catalogue import catalogue
from theodolite.metrics.faithfulness.doubts import surrogate_doubts

FEW_CLUSTERS = 10


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
    notes: tuple[str, ...] = ()
    """What a reader should know about how it was asked, or doubt about the evidence."""
    failed_pieces: int = 0
    """Pieces of work that were given up: the scores are those of the rest."""

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
        [('exists', 'yes'), ('leaks', 'yes')]
    """
    bundles = [evidence] if isinstance(evidence, Evidence) else evidence
    if not isinstance(bundles, list | tuple) or not all(isinstance(b, Evidence) for b in bundles):
        raise EvidenceError(
            "audit",
            type(evidence).__name__,
            "evidence",
            "Make it, e.g. theodolite.ConceptEvidence(values=..., truth=...).",
        )
    return answer([bundles], None, resampling or Resampling(), progress)


def answer(
    seeds: Sequence[Sequence[Evidence]],
    requests: Sequence[Request] | None,
    resampling: Resampling,
    progress: Progress = silent,
    workers: Workers | None = None,
) -> Audit:
    """Scores from the bundles of each seed: those requested, or all that the evidence allows."""
    held = [{kind: Held(bundle) for kind, bundle in by_kind(bundles).items()} for bundles in seeds]
    return answer_shards(held, requests, resampling, progress, workers)


def answer_shards(
    seeds: Sequence[Mapping[type[Evidence], Shards]],
    requests: Sequence[Request] | None,
    resampling: Resampling,
    progress: Progress = silent,
    workers: Workers | None = None,
) -> Audit:
    """The same from evidence in pieces, by kind."""
    some = {kind: _at_hand(shards) for kind, shards in seeds[0].items()}
    unanswered: list[Unanswered] = []
    notes = _doubts(some) + _few_clusters(seeds[0])
    if requests is None:
        requests, unanswered = requests_for(some)
        notes += _fallbacks(requests)
    asked = [_asked(request, seeds) for request in requests]
    notes += _drawn(asked, resampling)
    found = evaluate_all(asked, resampling, workers, progress)
    scores = tuple(score for one in found for score in one)
    return Audit(scores, tuple(unanswered), tuple(requests), tuple(notes))


def _at_hand(shards: Shards) -> Evidence:
    """All samples if they are in memory; else those of the first piece."""
    return shards.whole if isinstance(shards, Held) else shards.pieces()[0].evidence()


def _drawn(asked: Sequence[Asked], resampling: Resampling) -> list[str]:
    """Scores that were estimated from some of the samples."""
    titles = [
        one.request.entry.title
        for one in asked
        if not one.request.entry.streams and len(one.evidence[0]) > resampling.most_pooled
    ]
    if not titles:
        return []
    n = max(len(one.evidence[0]) for one in asked if not one.request.entry.streams)
    return [
        f"{', '.join(dict.fromkeys(titles))}: estimated from {resampling.most_pooled:,} of {n:,} "
        "samples, drawn at random, because all are needed at once. Their intervals are those of "
        "so many samples."
    ]


def _asked(request: Request, seeds: Sequence[Mapping[type[Evidence], Shards]]) -> Asked:
    needs = request.entry.needs
    if needs not in seeds[0]:
        raise EvidenceError(request.entry.name, f"no {needs.kind} evidence", "some")
    return Asked(request, [kinds[needs] for kinds in seeds])


def by_kind(bundles: Sequence[Evidence]) -> dict[type[Evidence], Evidence]:
    """Bundles by kind; concept evidence inside a location bundle serves if there is no other."""
    found: dict[type[Evidence], Evidence] = {type(bundle): bundle for bundle in bundles}
    for bundle in bundles:
        if isinstance(bundle, LocationEvidence | EmbeddingEvidence):
            found.setdefault(ConceptEvidence, bundle.explained)
    return found


def _doubts(by_kind: Mapping[type[Evidence], Evidence]) -> list[str]:
    """Signs that the arrays do not belong together, which no shape can show."""
    explained = by_kind.get(SurrogateEvidence)
    if isinstance(explained, SurrogateEvidence):
        return surrogate_doubts(explained)
    said = by_kind.get(ConceptEvidence)
    if not isinstance(said, ConceptEvidence) or said.weights is None or said.predicted is None:
        return []
    agree = float(np.mean((said.values @ said.weights).argmax(axis=1) == said.predicted))
    if agree >= 0.5:
        return []
    return [
        f"Values times weights choose the predicted class in only {100 * agree:.0f} % of the "
        "samples. Unless the head has a strong bias, weights, values and predictions may not "
        "belong together; weights have a row per concept and a column per class."
    ]


def _few_clusters(by_kind: Mapping[type[Evidence], Shards]) -> list[str]:
    """Intervals over a handful of clusters are too narrow, whoever draws them."""
    clusters = next((clusters_of(shards) for shards in by_kind.values()), None)
    n = FEW_CLUSTERS if clusters is None else clusters.n
    if n >= FEW_CLUSTERS:
        return []
    return [
        f"There are only {n} clusters of samples. Intervals over so few are too narrow: read them "
        "as a lower limit."
    ]


def _fallbacks(requests: Sequence[Request]) -> list[str]:
    """Options other than the defaults, taken because the evidence lacks what those need."""
    return [
        f"{request.entry.title}: {option}={value}, because the evidence lacks what "
        f"{option}={request.entry.default(option)} needs."
        for request in requests
        for option, value in request.options.items()
        if option in request.entry.uses_if and value != request.entry.default(option)
    ]


def requests_for(
    by_kind: Mapping[type[Evidence], Evidence],
) -> tuple[list[Request], list[Unanswered]]:
    """The scores that the evidence allows, each with the first options that it allows."""
    requests, unanswered = [], []
    for entry in catalogue().values():
        if entry.on_request:
            continue
        evidence = by_kind.get(entry.needs)
        if evidence is None:
            unanswered.append(Unanswered(entry.name, (f"{entry.needs.kind} evidence",)))
            continue
        needing, missing = _least_needing(entry, evidence)
        if missing:
            unanswered.append(Unanswered(entry.name, tuple(missing)))
            continue
        options = _fitting(entry, evidence, needing)
        if options is None:
            unanswered.append(Unanswered(entry.name, ("concepts that have a place",)))
            continue
        requests.append(Request(entry, options))
        others = entry.choices("over")[1:] if entry.detail else ()
        requests += [Request(entry, {**options, "over": other}) for other in others]
    return requests, unanswered


def _least_needing(entry: Entry, evidence: Evidence) -> tuple[dict[str, str], list[str]]:
    """The options that lack least, the defaults first; and what they still lack."""
    best: dict[str, str] = {}
    missing = entry.missing(evidence, {})
    for option in entry.uses_if:
        for choice in entry.choices(option):
            lacks = entry.missing(evidence, {option: choice})
            if len(lacks) < len(missing):
                best, missing = {option: choice}, lacks
    return best, missing


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
    """One verdict per question: from its headline score, else from its first deciding metric."""
    found = []
    for question, asks in QUESTIONS.items():
        chosen = next((s for s in headlines if s.question == question), None)
        if chosen is None:
            deciding = [s for s in scores if catalogue()[s.metric].decides]
            chosen = _headline([s for s in deciding if s.question == question])
        if chosen is None:
            found.append(Verdict(question, asks, "not asked", "Not asked in this run."))
        elif chosen in headlines:
            found.append(verdict(chosen))
        else:
            found.append(_worst(question, chosen, deciding))
    return tuple(found)


def _worst(question: Question, first: Score, deciding: Sequence[Score]) -> Verdict:
    """A fault shown by any of the scores that look for it is a fault: the worst answer counts."""
    looking = [
        s for s in deciding if s.question == question and catalogue()[s.metric].looks_for_a_fault
    ]
    if not catalogue()[first.metric].looks_for_a_fault:
        return verdict(first)
    names = dict.fromkeys(s.metric for s in looking)
    heads = [_headline([s for s in looking if s.metric == name]) for name in names]
    answers = [verdict(head) for head in heads if head is not None]
    return min(answers, key=lambda v: ("no", "partly", "cannot tell", "yes").index(v.answer))


def _headline(scores: Sequence[Score]) -> Score | None:
    """Of the question's first metric the score with the options that its card quotes."""
    if not scores:
        return None
    # a score that means nothing here, such as probabilities of a single output, decides nothing
    first = next((s for s in scores if not math.isnan(s.value)), scores[0])
    wanted = catalogue()[first.metric].headline
    of_first = [s for s in scores if s.metric == first.metric]
    return max(of_first, key=lambda s: sum(s.options.get(k) == v for k, v in wanted.items()))
