"""The report: one HTML file that needs nothing beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from theodolite._runs.folder.chapters import installed_chapters
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder.spec_answers import decide_verdicts
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.report_material import RunMaterial
from theodolite._verdicts.missing import is_left_out
from theodolite._verdicts.scores_file import ComparedRecord, NotComputedRecord
from theodolite.evidence.subject import Subject
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS, QUESTIONS_BY_KIND
from theodolite.report.chapters.acceptance import acceptance_chapter
from theodolite.report.chapters.attributions import attribution_rows
from theodolite.report.chapters.compared import answers_by_explanation, compared_chapter
from theodolite.report.chapters.conflicts import conflicts_chapter
from theodolite.report.chapters.faithfulness import faithfulness_chapter
from theodolite.report.chapters.leakage import leakage_chapter
from theodolite.report.chapters.map_images import map_images
from theodolite.report.chapters.saliency import saliency_chapter
from theodolite.report.chapters.units import units_chapter
from theodolite.report.contents import chapter, stand_in_chapter
from theodolite.report.examples import examples, examples_part
from theodolite.report.explorer.page import explorer_chapter
from theodolite.report.head import head
from theodolite.report.limits import doubts, limits
from theodolite.report.methods import method_notes
from theodolite.report.one_by_one import one_by_one
from theodolite.report.page import write_page
from theodolite.report.provenance import provenance
from theodolite.results import Failed, Score


def write_report(folder: Path) -> Path:
    """Build ``report.html`` from what a run folder holds."""
    return write_report_of(RunFolder(folder), folder / "report.html")


def write_report_of(material: RunMaterial, path: Path) -> Path:
    """Build the page from the material of a run, wherever that lies."""
    record, made_record, spec = material.record, material.made_record, material.record.spec
    every_score, not_computed = material.scored
    scores = [score for score in every_score if score.metric in catalogue()]
    strange = {score.metric for score in every_score if score.metric not in catalogue()}
    models, subject = material.compared(), material.subject
    verdicts = decide_verdicts(spec, scores, subject, not_computed, material.errors)
    example_cards = examples(material, made_record.examples, spec.seeds[0])
    explorer = explorer_chapter(material, scores, example_cards)
    content: dict[str, Any] = head(record, made_record, verdicts, subject)
    noun = content["noun"]
    content |= {
        **_subject_words(subject, material.errors),
        **_chapters_of(material, scores, models),
        "examples": examples_part(example_cards),
        "explained_rows": attribution_rows(material, spec.seeds[0]),
        "map_images": map_images(material, spec.seeds[0]),
        "by_explanation": answers_by_explanation(models, verdicts),
        "one_by_one": one_by_one(material, scores, verdicts, models, noun),
        "limits": limits(record, made_record, verdicts, subject, noun),
        "explorer": explorer,
        "doubts": doubts(spec, made_record, verdicts, _needs(not_computed, scores))
        | {"strange": sorted(strange), "unshown": _is_unshown(spec)},
        "n_scores": len(scores),
        "methods": method_notes(scores, [v.score.metric for v in verdicts if v.score is not None]),
        "provenance": provenance(record, made_record),
        "alone": material.alone,
        "version": record.packages.get("theodolite", ""),
    }
    return write_page(
        path,
        "report.html.j2",
        content | {"parts": parts(content)},
        explorer["scripts"] if explorer else (),
        styles=["images.css", *(["explorer.css"] if explorer else [])],
        images=explorer["images"] if explorer else (),
    )


def _chapters_of(
    material: RunMaterial, scores: Sequence[Score], models: Sequence[ComparedRecord]
) -> dict[str, Any]:
    made_record, spec, subject = material.made_record, material.record.spec, material.subject
    return {
        "units": units_chapter(material, made_record.cards, scores),
        "conflicts": conflicts_chapter(material, made_record.conflict_examples, subject),
        "chapters": _chapters(spec, scores, subject),
        "leakage": leakage_chapter(material, spec, scores, models),
        "faithfulness": faithfulness_chapter(material, spec, made_record, subject, scores, models),
        "acceptance": acceptance_chapter(material, spec, scores, models),
        "saliency": saliency_chapter(material, spec, models),
        "compared": compared_chapter(models, spec),
        "openings": [text for c in installed_chapters() if (text := c.open(material))],
        "sections": [
            section
            for chapters in installed_chapters()
            for section in chapters.render(material, models)
        ],
    }


def _needs(
    not_computed: Sequence[NotComputedRecord], scores: Sequence[Score]
) -> list[tuple[str, list[str]]]:
    """Return scores that further arrays for this kind of explanation would give."""
    known = catalogue()
    applying = [QUESTIONS_BY_KIND.get(known[score.metric].needs.kind) for score in scores]
    return [
        (score.metric, score.needs)
        for score in not_computed
        if score.metric in known
        and not is_left_out(score)
        and QUESTIONS_BY_KIND.get(known[score.metric].needs.kind) in applying
    ]


def _subject_words(subject: Subject, failed: Sequence[Failed]) -> dict[str, Any]:
    """Return how sentences name the outputs that are explained, and the scores that failed."""
    of = "" if subject.outputs == "model" else subject.wording.name
    return {"wording": subject.wording, "methods_of": of, "failed": list(map(str, failed))}


def _is_unshown(spec: RunSpec) -> bool:
    """Return whether the spec names tables or charts that no installed package draws."""
    named = spec.report.tables or spec.report.grids or spec.report.charts
    return bool(named) and not installed_chapters()


def _chapters(spec: RunSpec, scores: Sequence[Score], subject: Subject) -> list[dict[str, Any]]:
    apart = {"faithful": stand_in_chapter(scores, subject)}
    return [
        chapter(question, spec, scores, apart.get(question))
        for question in QUESTIONS
        if any(score.question == question for score in scores)
    ]


def parts(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The parts that a page has, each by its anchor: decide, see, check."""
    what = content["one_by_one"]["what"].capitalize() if content["one_by_one"] else ""
    by_anchor = [
        ("answers", "Answers", True),
        ("images", "Rows" if content["explained_rows"] else "Images", has_images(content)),
        ("one-by-one", what, bool(what)),
        ("limits", "Limits", content["limits"]),
        ("appendix", "Appendix", True),
    ]
    return [(anchor, name) for anchor, name, there in by_anchor if there]


def has_images(content: Mapping[str, Any]) -> bool:
    """Return whether there is something to look at."""
    maps = content["saliency"] and content["saliency"]["maps"]
    cards = content["units"] and content["units"]["cards"]
    maps = maps or content["map_images"]
    return bool(content["examples"] or cards or maps or content["explained_rows"])
