"""Tables for a paper: they compile, and say what the run says."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.evidence.two_questions import finished
from theodolite._runs.folder_reader import RunFolder
from theodolite.errors import EvidenceError
from theodolite.metrics.catalogue import catalogue
from theodolite.report.exports.latex import latex_tables, value_latex, write_latex
from theodolite.report.exports.latex_text import GREEK, latex_text
from theodolite.results import Interval, Null, Score

KNOWN = {
    "usepackage", "begin", "end", "centering", "caption", "label", "toprule", "midrule",
    "bottomrule", "multicolumn", "cmidrule", "textbackslash", "textasciitilde", "textasciicircum",
    "textless", "textgreater", "textbar", "char", "texttt", "times", "textendash", "textemdash",
    "ldots", "pm", "leq", "geq", "approx", "to", "cdot", "infty", "circ", "texteuro",
    "footnotesize", "scriptsize", "setlength", "tabcolsep", "raggedright", "arraybackslash",
    "linewidth", "addlinespace", "smallskip", *GREEK.values(),
}  # fmt: skip
TOKEN = re.compile(r"\\([A-Za-z]+)|\\([^A-Za-z])|(.)", re.DOTALL)


def checked(latex: str) -> list[str]:
    """Read LaTeX strictly; the commands it has. Anything that could not compile is an error."""
    commands: list[str] = []
    depth, formula = 0, False
    for line in latex.splitlines():
        for word, symbol, character in TOKEN.findall(line):
            if word:
                assert word in KNOWN, word
                commands.append(word)
            elif symbol:
                assert symbol in "{}$&#%_\\,", symbol
                assert formula or symbol != ",", "a thin space belongs to a formula"
            elif character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
                assert depth >= 0, line
            elif character == "$":
                formula = not formula
            elif character == "^":
                assert formula, line
            elif character == "%":
                break  # a comment
            else:
                assert character not in "#_\n\r", (character, line)
                assert not (formula and character == "&")
                assert character.isascii() or (character.isalpha() and character <= "\u017f")
        assert not formula, line
    assert depth == 0
    return commands


def tables(latex: str) -> list[list[list[str]]]:
    """The rows of each tabular, cell by cell; all rows have as many cells as there are columns."""
    result = []
    for columns, body in re.findall(
        r"\\begin\{tabular\}\{@\{\}(.*?)@\{\}\}\n(.*?)\\end\{tabular\}", latex, re.DOTALL
    ):
        columns = re.sub(r">\{[^{}]+\}p\{[^{}]+\}", "p", columns)
        rows = []
        for line in body.strip().splitlines():
            text = line.strip()
            if text.startswith(
                ("\\toprule", "\\midrule", "\\bottomrule", "\\cmidrule", "\\addlinespace")
            ):
                continue
            assert text.endswith(" \\\\"), text
            cells = re.split(r"(?<!\\)&", text[:-3])
            wide = sum(int(n) for n in re.findall(r"\\multicolumn\{(\d)\}", text))
            n = len(cells) + wide - text.count("\\multicolumn")
            assert n == len(columns), text
            rows.append([cell.strip() for cell in cells])
        result.append(rows)
    environments = re.findall(r"\\(begin|end)\{(\w+)\}", latex)
    stack = []
    for side, name in environments:
        if side == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    return result


def test_a_table_per_question(tmp_path: Path) -> None:
    latex = latex_tables([finished(tmp_path / "run")])
    checked(latex)
    exists, accepted = tables(latex)
    assert exists[0] == ["Score", "Options", "Value", "Strongest baseline", "$n$", "Undef."]
    assert [row[1] for row in exists[1:]] == [
        "all samples, value, first named", "all samples, value, first 5 named",
    ]  # fmt: skip
    assert re.fullmatch(r"\$0\.50\\,\[0\.\d\d, 0\.\d\d\]\$", exists[1][2])
    assert exists[1][4:] == ["16", "0"]
    assert re.fullmatch(r"\$\d\.\d\d\$ \(.+\)", accepted[1][3])
    assert "95 \\% intervals over samples" in latex
    assert "\\caption{Would people agree?" in latex
    assert "\\label{tab:two-exists}" in latex


def test_runs_stand_side_by_side(tmp_path: Path) -> None:
    one = finished(tmp_path / "a_b & c")  # of one spec: called by their folders
    other = finished(tmp_path / "100 %", metrics=("accepted",))
    latex = write_latex(tmp_path / "tables.tex", [one, other]).read_text()
    checked(latex)
    exists, accepted = tables(latex)
    assert exists[0] == [
        "", "", "\\multicolumn{3}{c}{a\\_b \\& c}", "\\multicolumn{3}{c}{100 \\%}",
    ]  # fmt: skip
    assert exists[2][4:] == ["16", "--", "--", "--"]
    assert accepted[2][2:5] == accepted[2][5:]
    same = latex_tables([one, one])
    assert "{a\\_b \\& c (1)}" in same
    checked(same)
    with pytest.raises(EvidenceError, match="at least one run"):
        latex_tables([])


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (0.512, (0.49, 0.53), "$0.51\\,[0.49, 0.53]$"),
        (-1e-9, None, "$0.00$"),
        (0.0012, (0.0008, 0.0147), "$0.0012\\,[0.0008, 0.0147]$"),
        (0.0, (0.0, 0.0043), "$0.0000\\,[0.0000, 0.0043]$"),
        (-0.05, None, "$-0.050$"),
        (-1.5, (-2.0, -1.0), "$-1.50\\,[-2.00, -1.00]$"),
        (float("nan"), (0.0, 1.0), "--"),
    ],
)
def test_values(value: float, interval: tuple[float, float] | None, text: str) -> None:
    given_ = None if interval is None else Interval(*interval, 0.95, "samples", "", 9)
    assert value_latex(value, given_) == text


def test_nulls_that_must_be_beaten_and_that_must_not_be_exceeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leak, accuracy = (
        Score(
            metric=metric, version=1, question="leak_free", value=0.5, better=better,
            bounds=(0.0, 1.0), best=1.0, n=9, n_undefined=0, n_unit="samples", options={},
            nulls=(Null("chance", 0.2, None),),
        )
        for metric, better in (("task_leakage_given_concept", "lower"), ("task_accuracy", "higher"))
    )  # fmt: skip
    folder = finished(tmp_path / "run")
    captions = []
    for scores in ([leak, accuracy], [leak], [accuracy]):
        monkeypatch.setattr(RunFolder, "scored", (scores, []))
        latex = latex_tables([folder])
        checked(latex)
        assert tables(latex)[0][1][2] == "$0.50$ [--]"
        captions.append(re.search(r"\\caption\{(.*)\}", latex)[1])
    clean = "the same score with the defect removed, which it should not exceed."
    other = "the same score with an uninformative explanation, which it should beat."
    about = catalogue()
    for metric, words in ((leak.metric, clean), (accuracy.metric, other)):
        assert f"Null of {latex_text(about[metric].title)}: {words}" in captions[0]
    assert captions[1].endswith(f" Null: {clean}") and other not in captions[1]
    assert captions[2].endswith(f" Null: {other}") and clean not in captions[2]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("\\{}$&#%_~^<>|\"'`-[*αΩ×−–é猫😀\n\x1b aZ1")) | st.text())
def test_any_name_compiles(name: str) -> None:
    latex = latex_text(name)
    checked(latex)
    assert "--" not in latex
    assert "\n" not in latex
    assert not re.search(r"(?<!\{)\[", latex)  # it would be an option of the row before


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX here")
def test_it_compiles_and_fits_the_page(tmp_path: Path) -> None:
    write_latex(tmp_path / "tables.tex", [finished(tmp_path / "run")])
    around = (
        "\\documentclass{article}\\usepackage{array,booktabs}\\begin{document}",
        "\\end{document}",
    )
    (tmp_path / "paper.tex").write_text("\\input{tables}".join(around))
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0 and "Overfull" not in made.stdout, made.stdout
