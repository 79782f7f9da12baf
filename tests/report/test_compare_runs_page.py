"""Pages of compared runs and of leaderboards: true, escaped, readable in a real browser."""

import itertools
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from support.runs.compared_runs import BY_CONCEPT, METRICS, spoilt, written
from support.servers.browser import axe_clean, chromium, fitting
from theodolite._runs.comparison.compare_runs import Comparison, compare_runs
from theodolite._runs.comparison.leaderboard import LeaderboardTable, build_leaderboard
from theodolite._runs.comparison.leaderboard_runs import ExcludedFolder
from theodolite._runs.comparison.loaded_runs import load_runs
from theodolite.report.pages.compare_runs import write_comparison
from theodolite.report.pages.compare_runs_words import bottom_line, sentence, signed
from theodolite.report.pages.leaderboard import write_leaderboard

SMALL = {"resampling": {"resamples": 100}}
EVIL = "<script>alert(1)</script>"
EVIL_FOLDER = "<img src=x onerror=alert(2)>"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    both = [*METRICS, BY_CONCEPT]
    written(root / "early", spoilt(0.45, 60), metrics=both, title=EVIL, **SMALL)
    written(root / "late", spoilt(0.2, 60, seed=2), metrics=both, **SMALL)
    written(root / "later", spoilt(0.18, 60, seed=4), title='"onload=alert(3) ', **SMALL)
    written(root / EVIL_FOLDER, spoilt(0.7, 60, seed=6), sealed=False, **SMALL)
    written(root / "photos", spoilt(0.3, 60, ids="photo"), **SMALL)
    changed = written(root / "changed", spoilt(0.5, 60, seed=12), **SMALL)
    (changed / "scores.json").write_text("{}")
    (root / "empty").mkdir()
    (root / "unfinished").mkdir()
    shutil.copy(root / "late" / "run.json", root / "unfinished" / "run.json")
    (root / "linked").symlink_to(root / "late")
    return root


@pytest.fixture(scope="module")
def pairs(folder: Path) -> list[Comparison]:
    return compare_runs(load_runs([folder / name for name in ("early", "late", "later")]))


@pytest.fixture(scope="module")
def page(folder: Path, pairs: list[Comparison]) -> Path:
    return write_comparison(folder.parent / "compare.html", pairs)


@pytest.fixture(scope="module")
def ranked(folder: Path) -> tuple[list[LeaderboardTable], list[ExcludedFolder]]:
    return build_leaderboard(folder)


@pytest.fixture(scope="module")
def table(folder: Path, ranked: tuple[list[LeaderboardTable], list[ExcludedFolder]]) -> Path:
    return write_leaderboard(folder.parent / "leaderboard.html", *ranked)


def test_comparison_says_first_who_is_better(pairs: list[Comparison], page: Path) -> None:
    pair = pairs[0]
    text = page.read_text()
    assert sentence(pair) == (
        "On these models late is better than early in 1 question, worse in none, none undecided. "
        "For the recipe, trained again: inconclusive (one seed)."
    )
    recipe = "For the recipe, trained again: inconclusive (one seed)."
    assert bottom_line(pair) == ("Better in 1 question, worse in none.", recipe)
    assert "<h1>late and later against early</h1>" in text
    first = text.partition("<details>")[0]
    assert "late: better in 1 question, worse in none." in first and recipe in first
    line = pair.questions[0].line
    assert line.difference is not None and line.difference.interval is not None
    assert signed(line.difference.value, line.score) in first
    assert "Holm" not in first and "Holm" in text and "paired, over samples" in text
    assert "For exploration: other scores of late and early" in text
    below = text.partition("For exploration")[2].partition("What changed most")[0]
    assert "better" not in below and "worse" not in below, "nothing is claimed of the others"
    assert "permuted concepts" in text, "the null stands beside the score"
    assert "to the right: in favor of" in below


def test_changed_answers_come_first(pairs: list[Comparison], tmp_path: Path) -> None:
    pair = pairs[0]
    (question,) = pair.questions
    same = replace(
        question, question_text="Unchanged?", question="located", before="yes", after="yes"
    )
    changed = replace(question, question_text="Changed?", before="no", after="yes")
    both = replace(pair, questions=(same, changed))
    text = write_comparison(tmp_path / "c.html", [both]).read_text()
    assert text.index("<h2>Changed?</h2>") < text.index("<h2>Unchanged?</h2>")
    assert re.search(r"no →</span>\s*yes", text) and "in both" in text
    assert "<h1>late against early</h1>" in text
    assert "Better in 2 questions, worse in none." in text


def test_leaderboard_shares_places_and_tells_what_is_left_out(
    ranked: tuple[list[LeaderboardTable], list[ExcludedFolder]], table: Path
) -> None:
    boards, left = ranked
    first, alone = boards
    assert {one.run.name: one.cells["exists"].place for one in first.rows} == {
        "later": "1–2", "late": "1–2", "early": "3", EVIL_FOLDER: "4",
    }  # fmt: skip
    assert [(one.run.name, one.cells["exists"].note) for one in alone.rows] == [
        ("photos", "no other run has this score")
    ]
    assert {one.name for one in left} == {"changed", "empty", "unfinished", "linked"}
    text = table.read_text()
    for one in left:
        assert one.name in text and one.why.partition("'")[0] in text
    assert "no checksums" in text and "place 1–2 of 4" in text
    assert "exists: late and later share the first place of 4." in text


def test_no_name_becomes_markup(page: Path, table: Path) -> None:
    for path in (page, table):
        text = path.read_text()
        assert EVIL not in text and EVIL_FOLDER not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
        tags = Tags()
        tags.feed(text)
        assert "img" not in {tag for tag, _ in tags.found}
        assert not [name for _, names in tags.found for name in names if name.startswith("on")]
        assert text.count("<script") == 0


def test_pages_read_well_in_a_browser(page: Path, table: Path) -> None:
    with chromium() as browser:
        # axe brings its own script, which the page's policy would not let run
        for path, scheme in ((page, "light"), (table, "dark")):
            shown = browser.new_page(color_scheme=scheme, bypass_csp=True)
            shown.goto(path.as_uri())
            axe_clean(shown)
        for path, width in itertools.product((page, table), (1200, 400)):
            shown = fitting(browser, path, width)
        ends = shown.locator("table.board tbody :is(td, th)").evaluate_all(
            "all => all.map((one) => one.getBoundingClientRect().right)"
        )
        assert len(ends) > 10 and max(ends) <= 400, "a card a run: nothing is cut"
