"""The brief: two pages of A4, with images or rows; without WeasyPrint, a page to print."""

import sys
from pathlib import Path

import numpy as np
import pypdf
import pytest

import theodolite
from support.runs.command_line import theodolite as command
from support.servers.browser import chromium
from theodolite._planted.attributions import planted_attributions
from theodolite._planted.saliency import planted_saliency
from theodolite.datasets.digits import digit_images, digit_strokes
from theodolite.errors import EvidenceError

A4 = (595.3, 841.9)


@pytest.fixture(scope="module")
def digits() -> theodolite.AuditResult:
    arrays = {
        name: array[::4] if len(array) > 800 else array for name, array in digit_strokes().items()
    }
    claim = "This digit, because of these strokes"
    return theodolite.audit(**arrays, images=digit_images()[::4], resamples=20, claim=claim)


def read_pages(path: Path) -> list[str]:
    """The text of each page, once each is A4."""
    reader = pypdf.PdfReader(path)
    for page in reader.pages:
        assert [float(side) for side in page.mediabox[2:]] == pytest.approx(A4, abs=1)
    return [" ".join(page.extract_text().split()) for page in reader.pages]


def check(pages: list[str], result: theodolite.AuditResult) -> None:
    first, second = pages
    for verdict in result.verdicts:
        if verdict.score is not None:
            assert verdict.question_text in first
    assert "What was compared with what" in first and "Decided by" in first
    assert "Limits and notes" in second and "How to check this" in second


def test_brief_of_concepts_has_two_pages_and_images(
    digits: theodolite.AuditResult, tmp_path: Path
) -> None:
    folder = digits.save(tmp_path / "run").parent
    written = command("report", folder, "--brief", tmp_path / "brief.pdf")
    assert written.returncode == 0 and written.stdout.count("\n") == 2
    pages = read_pages(tmp_path / "brief.pdf")
    check(pages, digits)
    assert "“This digit, because of these strokes”" in pages[0] and "225 samples" in pages[0]
    assert len(pypdf.PdfReader(tmp_path / "brief.pdf").pages[1].images) == 4
    assert "theodolite verify . --recompute all" in pages[1]
    inside = command("report", folder, "--brief", folder / "brief.pdf")
    assert inside.returncode == 2 and "a place outside of it" in inside.stderr


@pytest.mark.parametrize("planted", [planted_attributions, planted_saliency])
def test_brief_of_other_kinds_has_two_pages(planted: object, tmp_path: Path) -> None:
    result = theodolite.audit(planted(40), resamples=20)
    path = result.report(tmp_path / "brief.pdf")
    check(read_pages(path), result)
    if planted is planted_attributions:  # bars for and against in their colors, not black
        drawn = pypdf.PdfReader(path).pages[1].get_contents().get_data()
        assert b"0.909804 0.34902 0.047059 rg" in drawn and b"0 0 0 rg" not in drawn


def test_long_names_do_not_add_a_page(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    truth = random.random((60, 6)) < 0.4
    result = theodolite.audit_concepts(
        truth + random.normal(size=truth.shape), truth, truth[:, 0].astype(int), resamples=20,
        names=[f"a concept whose name takes very much room, {'more ' * 20}{i}" for i in range(6)],
        claim="This claim is long " * 12, images=random.random((60, 90, 30)),
    )  # fmt: skip
    assert len(read_pages(result.report(tmp_path / "brief.pdf"))) == 2


def test_without_weasyprint_a_page_to_print(
    digits: theodolite.AuditResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.warns(UserWarning, match="print it"):
        page = digits.report(tmp_path / "brief.pdf")
    assert page == tmp_path / "brief.html" and not (tmp_path / "brief.pdf").exists()
    with chromium() as browser:
        tab = browser.new_page()
        tab.goto(page.as_uri())
        tab.pdf(path=tmp_path / "printed.pdf", prefer_css_page_size=True, print_background=True)
    check(read_pages(tmp_path / "printed.pdf"), digits)
    with pytest.raises(EvidenceError, match=r"\.html or \.pdf"):
        digits.report(tmp_path / "brief.docx")
