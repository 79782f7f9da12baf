"""A section for a model card: what an audit found, in Markdown."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from theodolite._runs.folder.run_records import ProducedRecord, RunRecord
from theodolite._runs.folder.spec_answers import decide_verdicts
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.run_content import choose_conflicts
from theodolite._storage.paths import all_or_nothing
from theodolite._storage.text import read_text
from theodolite._verdicts.bottom_line import bottom_line
from theodolite._verdicts.words import not_evaluated_text
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.subject import Subject
from theodolite.metrics.catalogue import catalogue
from theodolite.report.exports.markdown_text import markdown_code, markdown_text
from theodolite.report.head import partial
from theodolite.report.words import full_title
from theodolite.results import Score, Verdict

BEGIN = "<!-- theodolite: begin -->"
END = "<!-- theodolite: end -->"
SHOWN_NOTES = 10
ONLY_THEN = re.compile(r" --(?:overwrite|quiet)(?= |$)")
"""Options that say nothing of what was found, and that nobody should copy."""


def write_model_card(path: Path, folder: Path, vouching: str = "") -> Path:
    """Write the section as a file of its own."""
    with all_or_nothing(path) as stream:
        stream.write((model_card_section(folder, vouching) + "\n").encode())
    return path


def update_model_card(path: Path, folder: Path, vouching: str = "") -> Path:
    """Put the section into a model card: between its markers, or at the end if it has none.

    Nothing else of the card is changed.
    """
    card = read_text(path, "model card")
    section = model_card_section(folder, vouching)
    if "\r\n" in card:
        section = section.replace("\n", "\r\n")
    with all_or_nothing(path) as stream:
        stream.write(_replaced(card, section, path.name).encode())
    return path


def model_card_section(folder: Path, vouching: str = "") -> str:
    """The section "Explanations" of a finished run, with its markers.

    ``vouching`` says who signed a dossier of it.
    """
    run = RunFolder(folder)
    record, made_record, subject = run.record, run.made_record, run.subject
    scores = run.scored[0]
    verdicts = decide_verdicts(record.spec, scores, subject)
    answered_verdicts = [v for v in verdicts if v.answer != "not_evaluated" and v.score is not None]
    parts = [
        BEGIN,
        "## Explanations",
        f"**{markdown_text(f'{partial(made_record)} {bottom_line(verdicts)}'.strip())}**",
        *_claim(made_record),
        _lede(record, made_record),
        markdown_text(subject.sentence),
        *([f"Vouched for: {markdown_text(vouching)}."] if vouching else []),
        *_answers(answered_verdicts),
        *filter(None, [markdown_text(not_evaluated_text(verdicts))]),
        *_disagree(folder, subject),
        *_distrust(answered_verdicts, made_record),
        *_provenance(record, made_record, folder.resolve().name),
        END,
    ]
    return "\n\n".join(parts)


def _replaced(card: str, section: str, name: str) -> str:
    marks = card.count(BEGIN), card.count(END)
    if marks == (0, 0):
        line = "\r\n" if "\r\n" in card else "\n"
        gap = "" if not card else line if card.endswith("\n") else line * 2
        return f"{card}{gap}{section}{line}"
    before, _, rest = card.partition(BEGIN)
    if marks != (1, 1) or END not in rest:
        raise EvidenceError(
            f"model card {name!r}",
            f"{marks[0]} times {BEGIN!r} and {marks[1]} times {END!r}",
            "one of each, in this order",
            "Remove the markers and what is between them.",
        )
    return f"{before}{section}{rest.partition(END)[2]}"


def _claim(made_record: ProducedRecord) -> list[str]:
    explained = made_record.explained
    if not explained.claim:
        return []
    return [f"The explanation claims: “{markdown_text(explained.claim)}”"]


def _lede(record: RunRecord, made_record: ProducedRecord) -> str:
    day = markdown_text(record.started.partition("T")[0])
    n = dict(made_record.facts).get("test samples")
    on = f", on {n:,} test samples" if isinstance(n, int) else ""
    name = markdown_text(record.spec.title or record.spec.name)
    version = markdown_text(record.packages.get("theodolite", ""))
    return f"Audit of an explanation: {name}, audited on {day}{on} with theodolite {version}."


def _answers(verdicts: Sequence[Verdict]) -> list[str]:
    if not verdicts:
        return ["No question could be answered."]
    rows = ["| Question | Answer | Because | Counted |", "|---|---|---|---|"]
    for verdict in verdicts:
        assert verdict.score is not None  # noqa: S101  asked, so there is one
        because = markdown_text(f"{full_title(verdict.score)}: {verdict.summary}")
        rows.append(
            f"| {markdown_text(verdict.question_text)} | **{verdict.answer.capitalize()}** "
            f"| {because} | {_counted(verdict.score)} |"
        )
    levels = dict.fromkeys(
        f"{100 * v.score.interval.level:g} %" for v in verdicts if v.score and v.score.interval
    )
    brackets = f"In brackets: {', '.join(levels)} intervals. " if levels else ""
    return ["\n".join(rows), f"{brackets}In parentheses: the baseline of each score."]


def _counted(score: Score) -> str:
    undefined = f", {score.n_undefined:,} undefined" if score.n_undefined else ""
    return f"{score.n:,} {score.n_unit}{undefined}"


def _disagree(folder: Path, subject: Subject) -> list[str]:
    conflicts = RunFolder(folder).conflicts()
    sentences = [text for verdict in conflicts.verdicts if (text := verdict.means(subject))]
    sentences += [
        f"{conflict.statement(subject)} {conflict.cause(subject)}".strip()
        for conflict in choose_conflicts(conflicts)
    ]
    if not sentences:
        return []
    return [
        "### Where the questions disagree",
        _listed([markdown_text(sentence) for sentence in sentences]),
    ]


def _distrust(verdicts: Sequence[Verdict], made_record: ProducedRecord) -> list[str]:
    metrics = dict.fromkeys(v.score.metric for v in verdicts if v.score is not None)
    known = [catalogue()[name] for name in metrics if name in catalogue()]
    caveats = [f"**{markdown_text(e.title)}:** {markdown_text(e.card.limitations)}" for e in known]
    if made_record.failed_tasks:
        caveats.insert(
            0,
            f"**Incomplete:** {made_record.failed_tasks} tasks failed; their samples are left out.",
        )
    caveats += [markdown_text(note) for note in made_record.notes[:SHOWN_NOTES]]
    if len(made_record.notes) > SHOWN_NOTES:
        caveats.append(f"{len(made_record.notes) - SHOWN_NOTES} further notes are in the report.")
    return ["### Limitations", _listed(caveats)] if caveats else []


def _provenance(record: RunRecord, made_record: ProducedRecord, name: str) -> list[str]:
    spec = record.spec
    resampling = spec.resampling
    facts = [
        ("Run", spec.name),
        ("Started", record.started),
        ("Seeds", ", ".join(map(str, spec.seeds))),
        ("Intervals", f"{resampling.resamples} resamples, seed {resampling.seed}"),
        ("Software", ", ".join(f"{name} {v}" for name, v in record.packages.items())),
        ("Code", record.code),
        *sorted((f"SHA-256 of {name}", digest) for name, digest in made_record.inputs.items()),
    ]
    listed = _listed([f"{markdown_text(n)}: {markdown_text(v)}" for n, v in facts if v])
    again = [ONLY_THEN.sub("", record.command)] if record.command else []
    verify = f"theodolite verify {shlex.quote(printable(name))} --recompute all"
    # a comment in them could be taken for the end of the section
    commands = "\n".join([*again, verify]).replace("<!--", "<! --")
    return ["### Provenance", listed, markdown_code(commands, "sh")]


def _listed(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)
