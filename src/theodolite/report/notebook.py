"""Results as a notebook shows them: the head of the report, one answer, one score.

Each is one piece of HTML that brings its own style, runs no script and has no ids, so that it may
be in a page many times. It follows the notebook's theme where that says whether it is dark, else
the reader's system.
"""

import functools
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from theodolite._verdicts.bottom_line import reliance
from theodolite._verdicts.words import interval_text, not_evaluated_text, percent
from theodolite.evidence.subject import Subject, make_unstated_subject
from theodolite.metrics.catalogue import catalogue
from theodolite.report.figures.strips import score_strip, strip_key
from theodolite.report.formulas import with_code
from theodolite.report.head import card
from theodolite.report.page import TEMPLATES, templates
from theodolite.report.palette import declared
from theodolite.report.words import full_title
from theodolite.results import Score, Verdict

LIGHT = ('body[data-jp-theme-light="true"]', "body.vscode-light", 'html[theme="light"]')
DARK = ('body[data-jp-theme-light="false"]', "body.vscode-dark", 'html[theme="dark"]')
"""How JupyterLab, VS Code and Colab say which theme they have."""
MOST_NOTES = 12
"""Number of items of a long list that are shown, with the total."""


def audit_html(
    verdicts: Sequence[Verdict],
    scores: Sequence[Score],
    subject: Subject,
    notes: Sequence[str] = (),
    failed_tasks: int = 0,
) -> str:
    """The head of the report: what may be relied upon, the answers, and what was not evaluated."""
    answers = [verdict for verdict in verdicts if verdict.answer != "not_evaluated"]
    deciding = [verdict.score for verdict in answers if verdict.score is not None]
    css, rely, counts = reliance(verdicts)
    return fragment(
        "notebook_audit.html.j2",
        bottom={"css": css, "rely": rely, "counts": counts},
        failed_tasks=failed_tasks,
        cards=[card(verdict, subject) for verdict in answers],
        not_evaluated=with_code(not_evaluated_text(verdicts)),
        key=strip_key(_interval_key(deciding)),
        notes=[with_code(note) for note in notes[:MOST_NOTES]],
        n_notes=len(notes),
        n_scores=len(scores),
    )


def _interval_key(scores: Sequence[Score]) -> str:
    levels = {100 * s.interval.level for s in scores if s.interval is not None}
    words = " or ".join(f"{level:g} %" for level in sorted(levels))
    return f"{words} interval".strip()


def verdict_html(verdict: Verdict) -> str:
    """Return the answer to one question as HTML."""
    return fragment("notebook_verdict.html.j2", card=card(verdict, make_unstated_subject()))


def score_html(score: Score) -> str:
    """One score on its scale, with what it says."""
    metric = catalogue().get(score.metric)
    return fragment(
        "notebook_score.html.j2",
        title=full_title(score),
        asks="" if metric is None else with_code(metric.card.question),
        value=percent(score.value, score),
        interval=interval_text(score).strip(),
        strip=score_strip(score),
        facts=_facts(score),
    )


def _facts(score: Score) -> list[tuple[str, str]]:
    facts = [(f"null: {null.label}", percent(null.value, score)) for null in score.nulls]
    if score.best not in score.bounds:
        facts.append(("best possible here", percent(score.best, score)))
    facts.append((f"{score.better} is better; counted", f"{score.n:,} {score.n_unit}"))
    if score.n_undefined:
        facts.append(("undefined, left out", f"{score.n_undefined:,}"))
    return facts


def description(score: Score) -> str:
    """Return the card's description, filled in with this score."""
    value = f"{full_title(score)}: {percent(score.value, score)}{interval_text(score)}."
    facts = " ".join(f"{name[0].upper()}{name[1:]}: {text}." for name, text in _facts(score))
    metric = catalogue().get(score.metric)
    if metric is None:
        return f"{value} {facts}"
    reading = [value, facts, f"How to read it: {metric.card.interpretation}"]
    return "\n".join([*reading, f"Limitations: {metric.card.limitations}"])


@functools.cache
def _style() -> Markup:
    """Our own style below one class, with the colors of the report."""
    dark = ",".join(f"{selector} .theodolite" for selector in DARK)
    light = ",".join(f"{selector} .theodolite" for selector in LIGHT)
    colors = (
        f".theodolite{{{declared()}color-scheme:light}}"
        f"@media (prefers-color-scheme:dark){{.theodolite{{{declared(dark=True)}"
        "color-scheme:dark}}"
        f"{light}{{{declared()}color-scheme:light}}{dark}{{{declared(dark=True)}color-scheme:dark}}"
    )
    strips = (
        (TEMPLATES / "strips.css").read_text("utf-8").replace("svg.strip", ".theodolite svg.strip")
    )
    return Markup(colors + (TEMPLATES / "notebook.css").read_text("utf-8") + strips)  # noqa: S704


def fragment(template: str, **content: Any) -> str:
    """Fill a template, with its style."""
    return templates().get_template(template).render(css=_style(), **content)
