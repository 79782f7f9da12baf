"""All tables of the benchmark, from the stored tables of explanations and votes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from theodolite._runs.folder.spec_answers import build_requests
from theodolite._scoring.evaluate import MetricRequest
from theodolite._verdicts.per_sample import sample_values
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence, find_bundle
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.technique_columns import (
    EXPLANATIONS,
    PEOPLE,
    RANKINGS,
    SCRIPTED,
    UNNAMED,
    VOTES,
    WORDS,
    Tables,
)
from theodolite_reproductions.findings.specs import TechniquesVotesSpec
from theodolite_reproductions.findings.techniques.components import component_rows
from theodolite_reproductions.findings.techniques.kinds import (
    OF_TECHNIQUES,
    by_data_set,
    by_kind,
    by_number,
    by_technique,
    method_contrasts,
    modality_contrast,
    network_contrasts,
)
from theodolite_reproductions.findings.techniques.people import (
    agreement_rows,
    favorite_rows,
    liked_rank,
    people_needed,
    ranking_rows,
)
from theodolite_reproductions.findings.techniques.record import (
    TechniqueRow,
    TechniquesVotesRecord,
    TechniqueTable,
    table_from,
)
from theodolite_reproductions.findings.techniques.scores import (
    Correlations,
    numbers_against_votes,
    questions_against_questions,
    questions_together,
)
from theodolite_reproductions.findings.techniques.sizes import accuracy_rows, people_rows, size_rows
from theodolite_reproductions.findings.techniques.voted_table import VotedTable
from theodolite_reproductions.findings.techniques.words import overlap_against_votes


def techniques_votes(  # noqa: PLR0913  options are keywords
    title: str,
    tables: Tables,
    evidence: Sequence[Sequence[Evidence]] = (),
    requests: Mapping[str, MetricRequest] | None = None,
    *,
    first: int = 12,
    resamples: int = 1000,
    seed: int = 0,
) -> TechniquesVotesRecord:
    """Tables 1 and 9 to 14 and Figs. 3, 6 to 8 and 10 to 12 of kazmierczak2024 for any votes.

    Args:
        title: Of the study; votes that nobody gave are named in it.
        tables: ``explanations`` and ``votes``; ``numbers``, ``words``, ``rankings`` and ``people``
            where there are some.
        evidence: Maps whose samples are explanations of the table, for scores without people.
        requests: Those scores, by the name that the table shows.
        first: How long the lists of favorites are.
        resamples: Of images, techniques, methods or people, as the claim needs.
        seed: Of the resamples.
    """
    table = VotedTable.of_tables(tables)
    numbers = {**table.numbers, **scores_of(table, evidence, requests or {})}
    parts = _tables(table, tables, numbers, first, (resamples, seed))
    scripted = table.source == SCRIPTED
    named_tables = [
        table_from(name, f"{says} ({SCRIPTED})" if scripted else says, list(rows))
        for name, says, rows in parts
    ]
    return TechniquesVotesRecord(
        title=f"{title} ({SCRIPTED})" if scripted and SCRIPTED not in title else title,
        source=table.source, explanations=len(table),
        techniques=len(table.codes("technique")[0]), images=len(table.codes("image")[0]),
        people=None if table.source == UNNAMED else len(table.people),
        tables=[own for own in named_tables if own.rows],
        notes=_notes(table, tables, named_tables, first),
    )  # fmt: skip


def techniques_record(
    study: TechniquesVotesSpec, tables: Tables, evidence: Sequence[Sequence[Evidence]]
) -> TechniquesVotesRecord:
    """The same as a spec asks for it."""
    if missing := [name for name in (EXPLANATIONS, VOTES) if name not in tables]:
        raise EvidenceError("study techniques_votes", f"no table {missing[0]!r}", "one of votes")
    requests = {name: build_requests([metric])[0] for name, metric in study.metrics.items()}
    return techniques_votes(
        study.title, tables, evidence, requests, first=study.first, resamples=study.resamples
    )


def _tables(
    table: VotedTable,
    tables: Tables,
    numbers: Mapping[str, np.ndarray],
    first: int,
    sampling: tuple[int, int],
) -> Iterator[tuple[str, str, Iterable[TechniqueRow]]]:
    """Name, title and rows of each table; those about persons where votes say whose they are."""
    yield "technique", "Acceptance by technique", by_technique(table, *sampling)
    for kind in OF_TECHNIQUES:
        yield kind, f"Acceptance by {kind}", by_kind(table, kind, *sampling)
    yield "data_set", "Acceptance by data set", by_data_set(table, *sampling)
    yield "accuracies", "Images that networks get right", accuracy_rows(tables, *sampling)
    yield "sizes", "Techniques by data set, methods by network", size_rows(tables)
    yield "people", "People by group", people_rows(tables)
    yield "modality_contrast", "Saliency against concepts", modality_contrast(table, *sampling)
    yield "network_contrast", "Networks, matched by method", network_contrasts(table, *sampling)
    methods = method_contrasts(table, *sampling)
    yield "method_contrast", "Methods against the other maps of their networks", methods
    correlations = Correlations(table, *sampling)
    against = numbers_against_votes(table, numbers, correlations)
    yield "numbers", "Numbers without people against votes", against
    by_name = by_number(table, numbers, *sampling)
    yield "scores", "Numbers without people by technique", by_name
    pairs = questions_against_questions(table, correlations)
    yield "questions", "Questions against each other", pairs
    together = questions_together(table, correlations)
    yield "questions_together", "Do questions of one group go together?", together
    overlap = overlap_against_votes(table, tables.get(WORDS, {}), *sampling)
    yield "words", "Named concepts against people's own words", overlap
    yield "components", "Variance of single votes", component_rows(table, *sampling)
    rankings = ranking_rows(tables.get(RANKINGS, {}), *sampling)
    yield "rankings", "What people put in order", rankings
    if table.source == UNNAMED:
        return
    lists = favorite_rows(table, first, *sampling)
    yield "favorites", f"People whose first {first} include a technique", lists
    yield "liked", "LIME and SHAP among the favorites", liked_rank(table, first, *sampling)
    groups = agreement_rows(table, tables.get(PEOPLE, {}), *sampling)
    yield "agreement", "Agreement with the others' mode, by group", groups


def scores_of(
    table: VotedTable,
    evidence: Sequence[Sequence[Evidence]],
    requests: Mapping[str, MetricRequest],
) -> dict[str, np.ndarray]:
    """What each explanation gave to scores that are means over maps; NaN where it is no map."""
    place = {str(name): at for at, name in enumerate(table.ids)}
    values = {name: np.full(len(table), np.nan) for name in requests}
    for bundles in evidence:
        maps = find_bundle(SaliencyEvidence, bundles)
        if maps is None or maps.samples.ids is None:
            continue
        rows = [(i, place[n]) for i in range(len(maps)) if (n := maps.samples.name(i)) in place]
        for name, request in requests.items():
            # what only nulls need is not needed here
            lacks = set(request.metric.missing(maps, request.options))
            if rows and not lacks - set(request.metric.nulls_use):
                own = sample_values(request, maps).reshape(len(maps), -1).mean(axis=1)
                for at, row in rows:
                    values[name][row] = own[at]
    return {name: column for name, column in values.items() if not np.isnan(column).all()}


def _notes(
    table: VotedTable, tables: Mapping[str, Any], named_tables: Sequence[TechniqueTable], first: int
) -> list[str]:
    notes = []
    if table.source == SCRIPTED:
        notes.append(
            f"Votes are by {SCRIPTED}: planted effects and noise, to see whether the analysis "
            "finds them. Nothing here is a finding about explanations."
        )
    explained = tables[EXPLANATIONS]
    n = len(explained["explanation"])
    if n > len(table):
        notes.append(f"{n - len(table):,} explanations without a vote are left out.")
    if silent := sum(not label for label in explained["predicted"]):
        notes.append(f"{silent:,} explanations say no predicted class; their votes count.")
    if table.source == UNNAMED:
        notes.append(
            "Votes do not say whose they are: favorites, agreement by group and the variance "
            "between people cannot be told."
        )
    else:
        votes = np.stack([(~np.isnan(v)).sum(axis=0) for v in table.votes.values()]).max(axis=0)
        if alone := int((votes == 1).sum()):
            notes.append(f"{alone} of {len(votes)} people gave a single vote: they have no list.")
        notes.append(
            f"A person's first {first} are those with the highest mean vote on Q1 to Q4; who rated "
            "no more techniques than that has no list."
        )
    for row in (r for own in named_tables if own.name == "agreement" for r in own.rows):
        needed = people_needed(row)
        if needed and " minus " in row.names["group"] and row.names["question"] == "Q1":
            notes.append(
                f"Agreement, {row.names['group']}: a difference of 0.1 would be seen in four of "
                f"five studies with about {needed:,} people; here are {row.units}."
            )
    return notes
