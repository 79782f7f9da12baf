"""The report: one HTML file that needs nothing beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS
from theodolite.report.caveats import caveats
from theodolite.report.chapters.acceptance import acceptance_chapter
from theodolite.report.chapters.compared import compared_chapter, compared_models
from theodolite.report.chapters.conflicts import conflicts_chapter
from theodolite.report.chapters.faithfulness import faithfulness_chapter
from theodolite.report.chapters.findings import findings
from theodolite.report.chapters.leakage import leakage_chapter
from theodolite.report.chapters.saliency import saliency_chapter
from theodolite.report.chapters.units import units_chapter
from theodolite.report.contents import SHORT, chapter
from theodolite.report.examples import examples
from theodolite.report.explorer.page import explorer_chapter
from theodolite.report.head import head
from theodolite.report.methods import notes_of
from theodolite.report.page import write_page
from theodolite.report.provenance import provenance
from theodolite.report.tables import grid_table
from theodolite.results import Failed, Score
from theodolite.run_folder.headlines import verdicts_of
from theodolite.run_folder.run_file import MadeRecord, RunRecord, read_record
from theodolite.run_folder.scores_file import UnansweredRecord, read_failed, read_scores


def write_report(folder: Path) -> Path:
    """Build ``report.html`` from what a run folder holds."""
    record = read_record(folder / "run.json", RunRecord)
    made_record = read_record(folder / "made.json", MadeRecord)
    stored = _stored_scores(folder / "scores.json")
    spec, scores, models = record.spec, stored.scores, compared_models(folder)
    verdicts = verdicts_of(spec, scores, stored.unanswered, stored.failed)
    example_cards = examples(folder, made_record.examples, spec.seeds[0])
    explorer = explorer_chapter(folder, made_record, scores, example_cards)
    content: dict[str, Any] = {
        **head(record, made_record, scores, verdicts),
        "failed": [str(failure) for failure in stored.failed],
        "examples": example_cards,
        "units": units_chapter(folder, made_record.cards, scores),
        "conflicts": conflicts_chapter(folder, made_record.conflict_examples),
        "chapters": [
            chapter(question, spec, scores)
            for question in QUESTIONS
            if any(score.question == question for score in scores)
        ],
        "leakage": leakage_chapter(folder, spec, scores, models),
        "faithfulness": faithfulness_chapter(folder, spec, made_record, scores, models),
        "acceptance": acceptance_chapter(folder, spec, scores, models),
        "saliency": saliency_chapter(folder, spec, models),
        "compared": compared_chapter(models, spec),
        "findings": findings(folder),
        "explorer": explorer,
        "grids": [t for t in (grid_table(g, folder) for g in spec.report.grids) if t is not None],
        "distrust": caveats(spec, made_record, verdicts, stored.needs)
        | {"strange": stored.strange},
        "methods": notes_of(scores, [v.score.metric for v in verdicts if v.score is not None]),
        "provenance": provenance(record, made_record),
        "version": record.packages.get("theodolite", ""),
    }
    return write_page(
        folder / "report.html",
        "report.html.j2",
        content | {"contents": contents(content)},
        explorer["scripts"] if explorer else (),
        styles=["explorer.css"] if explorer else (),
        pictures=explorer["pictures"] if explorer else (),
    )


class _StoredScores(NamedTuple):
    """What ``scores.json`` says."""

    scores: list[Score]
    strange: list[str]
    """Metrics of packages that are not installed here."""
    unanswered: list[UnansweredRecord]
    failed: tuple[Failed, ...]

    @property
    def needs(self) -> list[tuple[str, list[str]]]:
        """What could not be asked, and what that would need."""
        return [(record.metric, record.needs) for record in self.unanswered]


def _stored_scores(path: Path) -> _StoredScores:
    scores, unanswered = read_scores(path)
    known = [score for score in scores if score.metric in catalogue()]
    strange = sorted({score.metric for score in scores} - {score.metric for score in known})
    return _StoredScores(known, strange, unanswered, read_failed(path))


def contents(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The sections that a page has, each by its anchor, in the order in which they come."""
    before = {"verdicts": "Verdicts", "examples": "Examples", "units": "Units"}
    before |= {"conflicts": "Conflicts", "saliency": "Maps compared"}
    questions = {f"question-{c['question']}": SHORT[c["question"]] for c in content["chapters"]}
    after = {"compared": "Models compared", "findings": "The paper's findings"}
    after |= {"grids": "More tables", "explorer": "One by one"}
    after |= {"distrust": "What to distrust", "methods": "Method notes"}
    after |= {"provenance": "Where this comes from"}
    there = {name for name, value in content.items() if value} | set(questions)
    if not compared_alone(content):
        there -= {"compared"}
    return [(name, says) for name, says in (before | questions | after).items() if name in there]


def compared_alone(content: Mapping[str, Any]) -> bool:
    """Whether models are compared in a section of their own, not in a question's."""
    compared = content["compared"]
    elsewhere = content["saliency"] or content["acceptance"]
    return bool(compared and not elsewhere and (compared["charts"] or not content["faithfulness"]))
