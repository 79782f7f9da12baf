"""All tables of the benchmark, from the stored tables of explanations and votes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.evidence.base import Evidence, of_kind
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.technique_columns import (
    EXPLANATIONS,
    PEOPLE,
    RANKINGS,
    SCRIPTED,
    WORDS,
    Tables,
)
from theodolite.findings.techniques.components import component_rows
from theodolite.findings.techniques.kinds import (
    OF_TECHNIQUES,
    by_data_set,
    by_kind,
    by_number,
    by_technique,
    modality_contrast,
    network_contrasts,
)
from theodolite.findings.techniques.people import (
    agreement_rows,
    favourite_rows,
    liked_rank,
    people_needed,
    ranking_rows,
)
from theodolite.findings.techniques.record import TechniquesVotesRecord, TechniqueTable, table_from
from theodolite.findings.techniques.scores import (
    Correlations,
    numbers_against_votes,
    questions_against_questions,
    questions_together,
)
from theodolite.findings.techniques.voted_table import VotedTable
from theodolite.findings.techniques.words import overlap_against_votes
from theodolite.run_folder.written import sample_values
from theodolite.scoring.evaluate import MetricRequest


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
    """Tables 1 and 9 to 14 and Figs. 3, 10 to 12 of paper 004 for whatever was voted on.

    Args:
        title: Of the study; votes that nobody gave are named in it.
        tables: ``explanations`` and ``votes``; ``numbers``, ``words``, ``rankings`` and ``people``
            where there are some.
        evidence: Maps whose samples are explanations of the table, for scores without people.
        requests: Those scores, by the name that the table shows.
        first: How long the lists of favourites are.
        resamples: Of pictures, techniques, methods or people, as the claim needs.
        seed: Of the resamples.
    """
    table = VotedTable.of_tables(tables)
    numbers = {**table.numbers, **scores_of(table, evidence, requests or {})}
    sampling = (resamples, seed)
    correlations = Correlations(table, *sampling)
    people = table.source != "unnamed people"
    parts = {
        "technique": ("Acceptance by technique", by_technique(table, *sampling)),
        **{kind: (f"Acceptance by {kind}", by_kind(table, kind, *sampling)) for kind in OF_TECHNIQUES},
        "data_set": ("Acceptance by data set", by_data_set(table, *sampling)),
        "modality_contrast": ("Saliency against concepts", modality_contrast(table, *sampling)),
        "network_contrast": (
            "Networks, matched by method", network_contrasts(table, *sampling)
        ),
        "favourites": (
            f"People whose first {first} include a technique",
            favourite_rows(table, first, *sampling) if people else (),
        ),
        "liked": ("LIME and SHAP among the favourites",
                  liked_rank(table, first, *sampling) if people else ()),
        "numbers": ("Numbers without people against votes",
                    numbers_against_votes(table, numbers, correlations)),
        "scores": ("Numbers without people by technique", by_number(table, numbers, *sampling)),
        "questions": ("Questions against each other",
                      questions_against_questions(table, correlations)),
        "questions_together": ("Do questions of one group go together?",
                               questions_together(table, correlations)),
        "words": ("Named concepts against people's own words",
                  overlap_against_votes(table, tables.get(WORDS, {}), *sampling)),
        "components": ("Variance of single votes", component_rows(table, *sampling)),
        "rankings": ("What people put in order", ranking_rows(tables.get(RANKINGS, {}), *sampling)),
        "agreement": ("Agreement with the others' mode, by group",
                      agreement_rows(table, tables.get(PEOPLE, {}), *sampling) if people else ()),
    }  # fmt: skip
    scripted = table.source == SCRIPTED
    made_tables = [
        table_from(name, f"{says} ({SCRIPTED})" if scripted else says, list(rows))
        for name, (says, rows) in parts.items()
    ]
    return TechniquesVotesRecord(
        title=f"{title} ({SCRIPTED})" if scripted and SCRIPTED not in title else title,
        source=table.source, explanations=len(table),
        techniques=len(table.codes("technique")[0]), pictures=len(table.codes("picture")[0]),
        people=len(table.people) if people else None,
        tables=[own for own in made_tables if own.rows],
        notes=_notes(table, tables, made_tables, first),
    )  # fmt: skip


def scores_of(
    table: VotedTable,
    evidence: Sequence[Sequence[Evidence]],
    requests: Mapping[str, MetricRequest],
) -> dict[str, np.ndarray]:
    """What each explanation gave to scores that are means over maps; NaN where it is no map."""
    place = {str(name): at for at, name in enumerate(table.ids)}
    values = {name: np.full(len(table), np.nan) for name in requests}
    for bundles in evidence:
        maps = of_kind(SaliencyEvidence, bundles)
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
    table: VotedTable, tables: Mapping[str, Any], made_tables: Sequence[TechniqueTable], first: int
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
    if table.source == "unnamed people":
        notes.append(
            "Votes do not say whose they are: favourites, agreement by group and the variance "
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
    for row in (r for own in made_tables if own.name == "agreement" for r in own.rows):
        needed = people_needed(row)
        if needed and " minus " in row.names["group"] and row.names["question"] == "Q1":
            notes.append(
                f"Agreement, {row.names['group']}: a difference of 0.1 would be seen in four of "
                f"five studies with about {needed:,} people; here are {row.units}."
            )
    return notes
