"""Tables for a paper: LaTeX that can be ``\\input``, with intervals and nulls beside the values."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from theodolite._runs.folder_reader import RunFolder
from theodolite._storage.paths import all_or_nothing
from theodolite._verdicts.rules import question_text
from theodolite.errors import EvidenceError, printable
from theodolite.questions import QUESTIONS
from theodolite.report.chapters.clean import is_defect_metric
from theodolite.report.exports.latex_text import latex_text
from theodolite.report.words import options_text, source_words, title
from theodolite.results import Interval, Score

NOTHING = "--"
MARK = "% theodolite:"
"""How our files begin."""
SIZES = ("footnotesize", "scriptsize")
"""Of one run, and of several."""
LEAST = 5e-7
"""What is nearer to zero is shown as zero."""
Key = tuple[str, str]
"""A metric's title and its options in words: what makes two runs' scores one row."""


def write_latex(path: Path, folders: Sequence[Path]) -> Path:
    """Write one table per question; several runs stand side by side."""
    with all_or_nothing(path) as stream:
        stream.write(latex_tables(folders).encode())
    return path


def latex_tables(folders: Sequence[Path]) -> str:
    r"""One ``table`` per question that any of the runs answers, as wide as the text.

    They need the packages ``array`` and ``booktabs``. Several runs may be wider than a narrow text.
    """
    if not folders:
        raise EvidenceError("runs", "none", "at least one run folder")
    runs = _name_runs([RunFolder(folder) for folder in folders])
    versions = [run.record.packages.get("theodolite", "") for run in runs.values()]
    known = ", ".join(f"{name} (theodolite {v})" for name, v in zip(runs, versions, strict=True))
    parts = [f"{MARK} needs \\usepackage{{array,booktabs}}; made from {printable(known, 1000)}"]
    for question in QUESTIONS:
        own = [[s for s in run.scored[0] if s.question == question] for run in runs.values()]
        if any(own):
            parts.append(_table(runs, own))
    return "\n\n".join(parts) + "\n"


def value_latex(value: float, interval: Interval | None = None) -> str:
    r"""A value with its interval, as one formula; small ones have two digits that count.

    >>> value_latex(0.512, Interval(0.49, 0.53, 0.95, "samples", "bootstrap", 1000))
    '$0.51\\,[0.49, 0.53]$'
    """
    if math.isnan(value):
        return NOTHING
    around = () if interval is None else (interval.low, interval.high)
    size = abs(value) if abs(value) >= LEAST else max(map(abs, around), default=0.0)
    places = 2 if size >= 0.1 or size < LEAST else 1 - math.floor(math.log10(size))
    numbers = [f"{round(number, places) + 0.0:.{places}f}" for number in (value, *around)]
    ends = f"\\,[{', '.join(numbers[1:])}]" if around else ""
    return f"${numbers[0]}{ends}$"


def _value(score: Score) -> str:
    if score.interval is None and not math.isnan(score.value):
        return f"{value_latex(score.value)} [{NOTHING}]"
    return value_latex(score.value, score.interval)


def _name_runs(runs: Sequence[RunFolder]) -> dict[str, RunFolder]:
    """Call runs by their specs, or by their folders if specs have one name."""
    names = [run.record.spec.name for run in runs]
    if len(set(names)) < len(names):
        names = [run.folder.resolve().name for run in runs]
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    return dict(zip(names, runs, strict=True))


def _table(runs: Mapping[str, RunFolder], own: Sequence[Sequence[Score]]) -> str:
    first = next(scores[0] for scores in own if scores)
    label = re.sub(r"[^a-z0-9]+", "-", "-".join(runs).lower()).strip("-")
    body = _alone(own[0]) if len(runs) == 1 else _beside(runs, own)
    return "\n".join(
        [
            "\\begin{table}",
            "  \\centering",
            f"  \\{SIZES[len(runs) > 1]}\\setlength{{\\tabcolsep}}{{3pt}}",
            f"  \\caption{{{_caption(runs, own)}}}",
            f"  \\label{{tab:{label or 'run'}-{first.question.replace('_', '-')}}}",
            "  \\smallskip",
            *(f"  {line}" for line in body),
            "\\end{table}",
        ]
    )


def _alone(scores: Sequence[Score]) -> list[str]:
    heads = ("Score", "Options", "Value", _null_head(scores), "$n$", "Undef.")
    rows = [
        (*map(latex_text, _key(score)), _value(score), _null(score),
         f"{score.n}", f"{score.n_undefined}")
        for score in scores
    ]  # fmt: skip
    columns = f"@{{}}{_wrapped(0.18)}{_wrapped(0.21)}l{_wrapped(0.16)}rr@{{}}"
    return _tabular(columns, [" & ".join(heads)], rows)


def _beside(runs: Mapping[str, RunFolder], own: Sequence[Sequence[Score]]) -> list[str]:
    """A row per score, three columns per run: its value, its null and how many were counted."""
    keys = list(dict.fromkeys(_key(score) for scores in own for score in scores))
    by_key = [{_key(score): score for score in reversed(scores)} for scores in own]
    over = [f"\\multicolumn{{3}}{{c}}{{{latex_text(name)}}}" for name in runs]
    rules = [f"\\cmidrule(lr){{{3 + 3 * i}-{5 + 3 * i}}}" for i in range(len(runs))]
    everything = [score for scores in own for score in scores]
    under = ["Score", "Options", *(["Value", _null_head(everything), "$n$"] * len(runs))]
    rows = [
        (*map(latex_text, key), *(cell for scores in by_key for cell in _cells(scores.get(key))))
        for key in keys
    ]
    heads = [" & ".join(["", "", *over]), " ".join(rules), " & ".join(under)]
    of_run = f"l{_wrapped(0.11)}r"
    columns = f"@{{}}{_wrapped(0.13)}{_wrapped(0.13)}{of_run * len(runs)}@{{}}"
    return _tabular(columns, heads, rows)


def _wrapped(share: float) -> str:
    """A column of text that is so wide, by the width of all text."""
    return f">{{\\raggedright\\arraybackslash}}p{{{share:g}\\linewidth}}"


def _cells(score: Score | None) -> tuple[str, str, str]:
    if score is None:
        return NOTHING, NOTHING, NOTHING
    return _value(score), _null(score), f"{score.n}"


def _tabular(columns: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head if head.startswith("\\cmidrule") else f"{head} \\\\" for head in heads]
    above = [""] + [row[0] for row in rows]  # a score that has several rows is named once
    body = [
        f"{' & '.join(('' if row[0] == before else row[0], *row[1:]))} \\\\"
        for before, row in zip(above, rows, strict=False)
    ]
    apart = [part for line in body for part in (line, "\\addlinespace[2pt]")][:-1]
    inside = ["\\toprule", *lines, "\\midrule", *apart, "\\bottomrule"]
    return [f"\\begin{{tabular}}{{{columns}}}", *(f"  {line}" for line in inside), "\\end{tabular}"]


def _key(score: Score) -> Key:
    return title(score), options_text(score)


def _null(score: Score) -> str:
    null = score.null
    if null is None or math.isnan(null.value):
        return NOTHING
    return f"{value_latex(null.value)} ({latex_text(null.label)})"


def _null_head(scores: Sequence[Score]) -> str:
    clean = {is_defect_metric(score) for score in scores}
    return "Strongest baseline" if clean == {False} else "Clean null" if clean == {True} else "Null"


def _caption(runs: Mapping[str, RunFolder], own: Sequence[Sequence[Score]]) -> str:
    first = next(scores[0] for scores in own if scores)
    interval_texts = dict.fromkeys(
        f"{100 * score.interval.level:g} % intervals over {source_words(score.interval, spec)}"
        for spec, scores in zip((run.record.spec for run in runs.values()), own, strict=True)
        for score in scores
        if score.interval is not None
    )
    scores = [score for of_run in own for score in of_run]
    bare = any(score.interval is None and not math.isnan(score.value) for score in scores)
    also = "; [–] means no interval" if bare else ""
    brackets = f" In brackets: {', '.join(interval_texts)}{also}." if interval_texts else ""
    probes = [name for name, run in runs.items() if not run.subject.decides]
    apart = probes if first.question == "faithful" else []
    of = f" {', '.join(apart)}: for a linear probe, not for your model." if apart else ""
    return latex_text(f"{question_text(first)}{of}{brackets} {_about_nulls(scores)}")


def _about_nulls(scores: Sequence[Score]) -> str:
    """What nulls are; named by their scores where a table has both kinds."""
    kinds = {
        True: "with the defect removed, which it should not exceed",
        False: "with an uninformative explanation, which it should beat",
    }
    titles = {
        clean: dict.fromkeys(title(s) for s in scores if is_defect_metric(s) == clean)
        for clean in kinds
    }
    both = all(titles.values())
    return " ".join(
        f"Null{' of ' + ', '.join(titles[clean]) if both else ''}: the same score {words}."
        for clean, words in kinds.items()
        if titles[clean]
    )
