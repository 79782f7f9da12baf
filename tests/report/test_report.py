"""The report: everything escaped, nothing fetched, readable in a real browser."""

import base64
import hashlib
import io
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from support.runs.compared_runs import spoilt, written
from support.runs.report_runs import evil_run
from support.runs.small_run import write_inputs
from theodolite._runs.folder.spec import read_spec
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite.report import html
from theodolite.report.figures.strips import score_strip
from theodolite.report.html import write_report
from theodolite.report.overlays import data_address
from theodolite.results import Interval, Null, Score


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_names_with_markup_are_escaped(tmp_path: Path) -> None:
    page = evil_run(tmp_path).read_text()
    tags = Tags()
    tags.feed(page)
    kinds = {tag for tag, _ in tags.found}
    assert not {"iframe", "object", "embed", "base", "link"} & kinds
    for script in re.findall(r"<script>(.*?)</script>", page, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert digest in page.partition("</head>")[0], "only ours run"
    kept = [a.get("type") for tag, a in tags.found if tag == "script" and a]
    assert set(kept) <= {"application/json", "application/gzip;base64"}, "others are data"
    assert not [a for _, attributes in tags.found for a in attributes if a.startswith("on")]
    for tag, attributes in tags.found:
        assert (attributes.get("src") or "data:image/").startswith("data:image/"), (tag, attributes)
        own = "data:image/" if tag == "image" else "#"
        assert (attributes.get("href") or own).startswith(own), (tag, attributes)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page, "shown as text"
    assert "{{ 7*7 }}" in page and "49" not in page.split("{{ 7*7 }}")[1][:20]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    root = write_inputs(tmp_path_factory.mktemp("report"))
    run(read_spec(root / "spec.yaml"), RunPaths(root / "data", root / "out", root / "cache"))
    write_report(root / "out")
    return root / "out"


def test_the_page_shows_what_the_scores_say(finished: Path) -> None:
    page = (finished / "report.html").read_text()
    scores = json.loads((finished / "scores.json").read_text())["scores"]
    first = next(
        s for s in scores if s["metric"] == "concept_existence" and s["options"]["top"] == 3
    )
    assert f"{100 * first['value']:.1f}" in page
    assert "Shapes &lt;b&gt;&amp; signs&lt;/b&gt;" in page
    assert page.count('<li class="example">') == 3
    assert "It is drawn." in page
    for number in range(len(scores)):
        assert f"{scores[number]['n']:,}" in page


def test_the_report_can_be_made_from_the_folder_alone(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "moved")
    before = (tmp_path / "moved" / "report.html").read_bytes()
    assert write_report(tmp_path / "moved").read_bytes() == before


def test_in_a_browser(finished: Path, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    browser_path = shutil.which("chromium")
    if browser_path is None:
        pytest.skip("no chromium here")
    evil = evil_run(tmp_path)
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(
            executable_path=browser_path,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for path, width in (
            (finished / "report.html", 1280),
            (finished / "report.html", 360),
            (evil, 800),
        ):
            page = browser.new_page(viewport={"width": width, "height": 900})
            said: list[str] = []
            page.on("console", lambda m, said=said: said.append(m.text))
            page.on("pageerror", lambda e, said=said: said.append(str(e)))
            page.on("dialog", lambda d, said=said: (said.append("a dialog"), d.dismiss()))
            page.on(
                "request",
                lambda r, said=said: (
                    said.append(r.url[:60]) if not r.url.startswith(("file:", "data:")) else None
                ),
            )
            page.goto(path.as_uri())
            assert said == []
            assert page.locator(".verdict .answer").count() >= 1
            box = page.locator(".verdict .answer").first.bounding_box()
            assert box is not None and box["y"] < 700, "the verdict is seen without scrolling"
            overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert overflow <= 0, "nothing sticks out to the side"
            broken = page.evaluate("[...document.images].filter(i => !i.naturalWidth).length")
            assert broken == 0
            page.close()
        browser.close()


def score(value: float) -> Score:
    interval = Interval(value - 0.1, value + 0.1, 0.95, "samples", "", 10)
    return Score("concept_existence", 1, "exists", value, "higher", (0.0, 1.0), 1.0, 10, 0, "samples",
                 intervals=(interval,), nulls=(Null("<null>", 0.2, None),))  # fmt: skip


def test_strips_are_drawn_to_scale() -> None:
    drawn = str(score_strip(score(0.5), width=216))
    assert 'class="score" d="M108.0 ' in drawn
    assert 'class="null" x1="48.0"' in drawn, "the null at a fifth"
    assert 'class="interval" x="88.0" y="22.0" width="40.0"' in drawn
    assert "&lt;null&gt;" in drawn
    assert 'class="score"' not in str(score_strip(score(float("nan"))))


def test_images_travel_inside_the_page() -> None:
    address = data_address(Image.new("RGB", (4, 4), (250, 0, 0)))
    again = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
    assert again.size == (4, 4)


def test_report_names_tables_that_no_package_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = {"title": "Table", "table": "t", "rows": "a", "columns": "b", "values": "c"}
    folder = written(tmp_path / "run", spoilt(0.2), report={"grids": [grid]})
    hint = "Install <code>theodolite-reproductions</code>"
    monkeypatch.setattr(html, "installed_chapters", tuple)
    assert hint in write_report(folder).read_text()
    plain = written(tmp_path / "plain", spoilt(0.2))
    assert hint not in write_report(plain).read_text()
