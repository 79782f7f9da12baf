"""Method notes: every score has a formula that can be shown, and a paper that is told in full."""

import re
from html import unescape

import pytest

from theodolite.metrics.catalogue import catalogue
from theodolite.report.citations import BIBLIOGRAPHY, plain_text, read_references, references
from theodolite.report.formulas import blocks, formula, marked_up, metric_docstring, with_code
from theodolite.report.methods import anchor, method_notes, note
from theodolite.report.provenance import COMMANDS

LATEX = re.compile(r'alttext="(.*?)"><')
ALTERNATIVE = re.compile(r'alttext="[^"]*"')


@pytest.mark.parametrize("name", list(catalogue()))
def test_every_metric_has_a_formula_that_converts(name: str) -> None:
    told = note(catalogue()[name])
    assert told["formulas"], "a formula in the docstring, under `.. math::`"
    shown = [told["says"], *(text for _, text in told["about"])]
    page = ALTERNATIVE.sub("", " ".join(map(str, shown)))
    assert "\\" not in page and ":cite" not in page and ":math" not in page and "``" not in page
    assert all(text.startswith("<math") for text in told["formulas"])
    assert len(re.findall("<math", page)) == len(re.findall("</math>", page)) >= 1
    facts = dict(told["facts"])
    assert facts["Reference"] != catalogue()[name].cite
    assert facts["How to read it"] and facts["Limitations"]


def test_formulas_are_those_of_the_docstring() -> None:
    for entry in catalogue().values():
        written = [text for kind, text in blocks(metric_docstring(entry)) if kind == "math"]
        assert written == [LATEX.search(unescape(one))[1] for one in note(entry)["formulas"]]
        assert metric_docstring(entry).count(".. math::") == len(written)


def test_fractions_sums_and_hats_keep_their_structure() -> None:
    shown = str(formula(r"\frac{1}{N} \sum_i \hat y_i"))
    assert "<mfrac>" in shown and "<munder>" in shown and "<mover" in shown
    assert str(formula("a < b & c")).count("<b") == 0


def test_what_cannot_be_set_is_shown_as_written() -> None:
    assert str(formula(r"\nosuch{<b>}")) == r"<code>\nosuch{&lt;b&gt;}</code>"
    assert str(formula("a_b_c")).startswith("<code>")


def test_sentences_of_docstrings_are_text() -> None:
    said = str(marked_up("<script> ``x<y`` of :cite:t:`koh2020concept` (:cite:p:`unheard`), *so*"))
    assert said == (
        "&lt;script&gt; <code>x&lt;y</code> of Koh et al. (2020) ((unheard)), <em>so</em>"
    )
    assert str(with_code("a ` b")) == "a ` b"
    assert str(with_code("`<i>`")) == "<code>&lt;i&gt;</code>"


@pytest.mark.parametrize("key", list(references()))
def test_every_reference_is_told_in_full(key: str) -> None:
    paper = references()[key]
    assert paper.fields["year"] in paper.full and paper.fields["title"] in paper.full
    assert all(family in paper.full and given for family, given in paper.authors)
    assert paper.authors[0][0] in paper.short
    assert not set("{}\\$") & set(paper.full) and ".." not in paper.full


def test_no_entry_of_the_bibliography_is_lost() -> None:
    written = re.findall(r"^@\w+\{(.+),$", BIBLIOGRAPHY.read_text("utf-8"), re.MULTILINE)
    assert list(references()) == written
    assert {entry.cite for entry in catalogue().values()} <= set(written)


KNOWN = {
    "title", "author", "year", "journal", "booktitle", "publisher", "edition", "volume", "number",
    "pages", "doi", "eprint", "note",
}  # fmt: skip
WHOLE = "@article{k,\n  title = {T},\n  author = {A, B},\n  year = {2000},\n}\n"


def test_bibliography_has_known_fields_and_accents_only() -> None:
    lines = BIBLIOGRAPHY.read_text("utf-8").splitlines()
    kinds = {line[1:].partition("{")[0] for line in lines if line.startswith("@")}
    assert kinds <= {"article", "inproceedings", "book", "misc"}
    for key, paper in references().items():
        assert set(paper.fields) <= KNOWN, key
        assert paper.fields["year"].isdigit() and paper.fields["title"] and paper.authors, key
        assert not set("\\$") & set("".join(paper.fields.values())), key
    n_fields = sum(len(paper.fields) for paper in references().values())
    assert n_fields == sum(line.startswith("  ") for line in lines), "each field once, all read"


def test_identifiers_are_told() -> None:
    numbered = WHOLE.replace("2000},", "2000},\n  doi = {10.1/x},\n  eprint = {1234.5},")
    assert read_references(numbered)["k"].full.endswith("2000. DOI 10.1/x. arXiv 1234.5.")
    assert plain_text(r"Hedstr{\"o}m, Fran{\c{c}}ois, Elo{\"i}se") == "Hedström, François, Eloïse"


def test_anchors_are_unique_and_commands_are_for_the_folder() -> None:
    assert len({anchor(name) for name in catalogue()}) == len(catalogue())
    assert all(re.fullmatch(r"theodolite (verify|report) \.( .*)?", c) for c, _ in COMMANDS)
    assert method_notes([]) == []
