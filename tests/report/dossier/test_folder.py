"""What a dossier holds: facts as they are stated, the same bytes every time, sheets of A4."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
from markupsafe import escape

from support.runs.command_line import Result, theodolite
from support.runs.gated import small_run
from support.runs.signing import FACTS, facts_file
from support.servers.browser import axe_clean, chromium, fitting, opened
from theodolite._runs.finished_run import read_finished_run
from theodolite.report.dossier.content import DossierFile
from theodolite.report.dossier.crosswalk import CROSSWALK
from theodolite.report.dossier.facts import read_facts
from theodolite.report.dossier.folder import read_dossier
from theodolite.report.sentences import sentence

PUBLISHED = Path(__file__).parents[3] / "docs" / "dossier.schema.json"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dossiers")
    small_run(place / "run")
    made = export(place / "run", place / "dossier", facts_file(place))
    assert made.returncode == 0, made.stderr
    return place


def export(run: Path, dossier: Path, facts: Path, *options: object) -> Result:
    return theodolite("export", run, "--dossier", dossier, "--facts", facts, *options)


def changed_facts(folder: Path, *changes: tuple[str, str]) -> Path:
    path = facts_file(folder)
    text = FACTS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_two_exports_of_one_run_are_the_same_bytes(place: Path) -> None:
    assert export(place / "run", place / "again", place / "dossier.yaml").returncode == 0
    assert contents(place / "again") == contents(place / "dossier")
    assert export(place / "run", place / "again", place / "dossier.yaml").returncode == 0
    assert set(contents(place / "again")) == {
        "dossier.html", "dossier.json", "manifest.json", "report.html", "run.json", "scores.json",
        "statement.json", "thresholds.yaml",
    }  # fmt: skip


def test_the_published_schema_is_the_one_in_use(place: Path) -> None:
    schema = json.loads(PUBLISHED.read_text())
    assert schema == DossierFile.model_json_schema()
    jsonschema.validate(json.loads((place / "dossier" / "dossier.json").read_text()), schema)


def test_the_statement_is_one_of_in_toto(place: Path) -> None:
    content = (place / "dossier" / "statement.json").read_bytes()
    statement = json.loads(content)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    predicate, dossier = statement["predicate"], read_dossier(place / "dossier")
    tests = {name: predicate[name] for name in ("passedTests", "warnedTests", "failedTests")}
    sides = {"yes": "passedTests", "no": "failedTests"}
    for row in dossier.answers:
        assert row.question in tests[sides.get(row.answer, "warnedTests")]
    extension = predicate["urn:theodolite:dossier:1"]
    asked = [question for questions in tests.values() for question in questions]
    unasked = ["located", "leak_free", "faithful", "accepted"]
    assert (asked, extension["notAsked"]) == (["exists"], unasked), "no unit is explained"
    assert [file["name"] for file in predicate["configuration"]] == ["run.json", "thresholds.yaml"]
    plain = json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert content == plain.encode()


@pytest.mark.parametrize(
    ("thresholds", "result"),
    [
        ("questions: {exists: partly}", "PASSED"),
        ("questions: {accepted: partly}", "FAILED"),
        ("questions: {accepted: partly}\nundefined: pass", "WARNED"),
    ],
)
def test_thresholds_decide_the_result(
    place: Path, tmp_path: Path, thresholds: str, result: str
) -> None:
    facts = facts_file(tmp_path)
    (tmp_path / "thresholds.yaml").write_text(thresholds)
    assert export(place / "run", tmp_path / "dossier", facts).returncode == 0
    assert read_dossier(tmp_path / "dossier").result == result


def test_everything_that_is_missing_is_named_at_once(place: Path, tmp_path: Path) -> None:
    new = theodolite("export", place / "run", "--facts", "new", cwd=tmp_path)
    assert new.returncode == 0 and (tmp_path / "dossier.yaml").is_file()
    result = export(place / "run", tmp_path / "dossier", tmp_path / "dossier.yaml")
    assert result.returncode == 2 and not (tmp_path / "dossier").exists()
    for name in (
        "system.name", "system.version", "system.provider", "purpose", "explanation.shown_to",
        "explanation.used_for", "explanation.claim", "model_files[0].path", "data.name",
        "model_files[0].sha256", "data.license", "data.description", "responsible[0].name",
        "responsible[0].role", "date",
    ):  # fmt: skip
        assert name in result.stderr
    again = theodolite("export", place / "run", "--facts", "new", cwd=tmp_path)
    assert again.returncode == 2  # what somebody filled in is not replaced


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"2.10"', "2.10", "in quotes"),
        ("purpose:", "porpoise:", "Did you mean 'purpose'?"),
        ("2026-11-18", "soon", "a day such as"),
        ("weights.bin", "elsewhere.bin", "model_files[0].sha256"),
        ('"weights.bin"', '"weights.bin", sha256: "00"', "the stated 00"),
        ('"weights.bin"', '"elsewhere.bin", sha256: "00"', "64 hexadecimal digits"),
    ],
)
def test_facts_that_cannot_be_meant_are_refused(
    place: Path, tmp_path: Path, old: str, new: str, reason: str
) -> None:
    result = export(place / "run", tmp_path / "d", changed_facts(tmp_path, (old, new)))
    assert result.returncode == 2 and reason in result.stderr, result.stderr


def test_model_files_are_hashed_where_they_are(tmp_path: Path) -> None:
    facts = read_facts(facts_file(tmp_path))
    assert facts.model_files[0].sha256 == hashlib.sha256(b"weights").hexdigest()


def test_what_is_not_stated_says_so_and_nothing_is_markup(place: Path, tmp_path: Path) -> None:
    facts = changed_facts(
        tmp_path, ("thresholds: thresholds.yaml", ""), ("limits:", "limits: [] #")
    )
    assert export(place / "run", tmp_path / "dossier", facts).returncode == 0
    page = (tmp_path / "dossier" / "dossier.html").read_text()
    assert page.count("not stated") >= 6
    assert "Reader &lt;b&gt;" in page and "Reader <b>" not in page
    assert "<script" not in page and re.search(r"(src|href)=\"(?!#)", page) is None
    assert "2.10" in page and "“These strokes decide”" in page
    assert "not legal advice" in page and "not a conformity assessment" in page


def test_answers_are_the_sentences_of_the_report(place: Path) -> None:
    page = (place / "dossier" / "dossier.html").read_text()
    asked = [v for v in read_finished_run(place / "run").verdicts if v.answer != "not_evaluated"]
    assert asked
    for verdict in asked:
        assert sentence(verdict) in page
    assert str(escape(read_dossier(place / "dossier").bottom_line)) in page


def test_the_crosswalk_says_of_every_row_what_is_covered(place: Path) -> None:
    page = (place / "dossier" / "dossier.html").read_text()
    for row in CROSSWALK:
        assert row.place in page and f"text of {row.text_of}" in page
        assert row.coverage in ("covered", "partly", "not covered")
    assert not [row for row in CROSSWALK if "ISO" in row.source and row.place != "as a whole"]


def test_a_folder_with_other_things_is_left_alone(place: Path, tmp_path: Path) -> None:
    facts = facts_file(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    assert export(place / "run", tmp_path / "mine", facts).returncode == 2
    run = shutil.copytree(place / "run", tmp_path / "run")
    before = sorted(path.name for path in run.iterdir())
    assert export(place / "run", run, facts).returncode in (2, 3)
    assert sorted(path.name for path in run.iterdir()) == before
    assert export(place / "run", place / "run" / "inside", facts).returncode == 2
    assert export(place / "run", tmp_path / "d", tmp_path / "none.yaml").returncode == 3
    assert theodolite("export", place / "run", "--dossier", tmp_path / "d").returncode == 2


def test_a_signed_dossier_is_not_replaced(place: Path, tmp_path: Path) -> None:
    signed = shutil.copytree(place / "dossier", tmp_path / "dossier")
    (signed / "statement.json.sig").write_text("x")
    result = export(place / "run", signed, facts_file(tmp_path))
    assert result.returncode == 2 and "not replaced" in result.stderr


def test_printed_it_has_seven_parts_on_sheets_of_a4(place: Path, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    path = place / "dossier" / "dossier.html"
    with chromium() as browser:
        for width in (1280, 320):
            page = fitting(browser, path, width)
        page.close()
        for width, scheme in ((1280, "light"), (400, "dark")):
            axe_clean(opened(browser, path, width=width, scheme=scheme))
        still = browser.new_page(java_script_enabled=False)
        still.goto(path.as_uri())
        still.pdf(path=tmp_path / "dossier.pdf", prefer_css_page_size=True)
    sheets = pypdf.PdfReader(tmp_path / "dossier.pdf").pages
    texts = [sheet.extract_text() for sheet in sheets]
    width, height = sheets[0].mediabox.width, sheets[0].mediabox.height
    assert (round(width), round(height)) == (595, 842)
    starts = (
        "Facts and signatories", "Answers", "Metrics, and why these", "Data and test procedure",
        "Limits, what", "Crosswalk", "How a third party checks this",
    )  # fmt: skip
    first = [
        next(i for i, text in enumerate(texts) if re.search(rf"{n}\s*{re.escape(start)}", text))
        for n, start in enumerate(starts, 1)
    ]
    assert first == sorted(set(first)), "each part begins a sheet of its own"
    assert len(sheets) <= 9 and all(len(text) > 200 for text in texts)
    assert all(f"{n} / {len(sheets)}" in text for n, text in enumerate(texts, 1))
