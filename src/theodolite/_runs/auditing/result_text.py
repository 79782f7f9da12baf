"""The text of an audit in 79 columns: what was audited, the bottom line, then the verdicts."""

import textwrap
from collections.abc import Sequence

from theodolite._runs.folder.explanation_record import describe_explanation
from theodolite._verdicts.answers import AuditAnswers, stand_in_line
from theodolite._verdicts.bottom_line import bottom_line
from theodolite._verdicts.words import not_evaluated_text
from theodolite.errors import printable
from theodolite.evidence.subject import Subject
from theodolite.results import Verdict

WIDTH = 79
LONGEST_NOTE = 1000


def describe_audited(subject: Subject, kind: str, counts: Sequence[tuple[str, int]]) -> str:
    """Return what was audited, such as "Concept scores: 400 samples, 8 concepts".

    Args:
        subject: The explanation, if it was described.
        kind: Kind of the first evidence.
        counts: Axes with their sizes.
    """
    name = describe_explanation(subject, kind) if subject.is_unstated else subject.description
    sizes = ", ".join(f"{n:,} {axis}" for axis, n in counts)
    return f"{name[:1].upper()}{name[1:]}{': ' if sizes else ''}{sizes}"


def format_answers(answers: AuditAnswers, audited: str) -> str:
    """Return the text that ``print`` shows.

    Args:
        answers: Scores and verdicts.
        audited: What was audited.
    """
    evaluated = [v for v in answers.verdicts if v.answer != "not_evaluated"]
    words = max((len(v.answer) for v in evaluated), default=0)
    lines = [*_wrap(audited), *_wrap(bottom_line(answers.verdicts)), ""]
    for verdict in evaluated:
        lines += [*_verdict_lines(verdict, words), ""]
    if (apart := answers.linear_probe) is not None:
        lines += _wrap(f"Separately, {stand_in_line(answers.subject, apart)}")
    lines += _wrap(not_evaluated_text(answers.verdicts))
    lines += [line for failure in answers.errors for line in _wrap(f"Failed: {failure}", "  ")]
    lines += [line for note in answers.notes for line in _wrap(f"Note: {note}", "  ")]
    return "\n".join([*lines, 'Scores: result.to_frame(). Report: result.report("report.html").'])


def _verdict_lines(verdict: Verdict, words: int) -> list[str]:
    """Return the answer and its reason, then the question, beside the name of the question."""
    label = f"  {verdict.question:<9}  {verdict.answer.upper():<{words}}  "
    room = WIDTH - len(label)
    texts = [
        *_wrap(f"{verdict.summary} {verdict.sensitivity}".rstrip(), width=room),
        *_wrap(verdict.question_text, width=room),
    ]
    return [f"{label if i == 0 else ' ' * len(label)}{line}" for i, line in enumerate(texts)]


def _wrap(text: str, indent: str = "", width: int = WIDTH) -> list[str]:
    """Break a text into lines; a number stays with its percent sign."""
    whole = printable(text, LONGEST_NOTE).replace(" %", "\u00a0%")
    lines = textwrap.wrap(whole, width, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace("\u00a0%", " %") for line in lines]
