"""Pages of features in a real browser: hostile texts, big texts, a folder without a server."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.evidence.feature_texts import (
    EVIL,
    drawn_codes,
    evil_explanations,
    evil_judgments,
    evil_names,
    evil_vocabulary,
)
from support.servers.browser import axe_clean, chromium
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Predicates
from theodolite.evidence.ragged import Ragged
from theodolite.ext import feature_pages
from theodolite.language.dashboard.material import MeasuredEffect
from theodolite.language.models.latent_logits import LatentLogits
from theodolite.language.texts.vocabulary import Vocabulary

LATENTS = 24


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


def evil_pages(folder: Path, **options: Any) -> Path:
    vocabulary = evil_vocabulary()
    evidence = drawn_codes(np.full(120, 9), LATENTS, 4, len(vocabulary))
    evidence = replace(evidence, latents=evil_names(LATENTS))
    return feature_pages(
        evidence, vocabulary, folder,
        beside={
            name: drawn_codes(np.full(120, 9), LATENTS, 4, len(vocabulary))
            for name in ("random directions", "<img src=x onerror=window.ran=10>\u202e")
        },
        explanations=evil_explanations(), judgments=evil_judgments(LATENTS),
        logits=LatentLogits(
            np.arange(LATENTS * 6).reshape(LATENTS, 6) % len(vocabulary),
            np.tile(np.array([3, 2, 1, -1, -2, -3], np.float32), (LATENTS, 1)),
        ),
        effects={0: [MeasuredEffect("steering", str(EVIL[0]), "no", str(EVIL[1]))]},
        title="<script>window.ran=9</script>\u202e", **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return evil_pages(tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def in_blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return evil_pages(tmp_path_factory.mktemp("many"), one_file_up_to=0)


class Visit:
    """A page, what went wrong on it, and what it asked for."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.asked_for: list[str] = []
        self.page.on("console", lambda m: self.wrong.append(m.text))
        self.page.on("pageerror", lambda e: self.wrong.append(str(e)))
        self.page.on("dialog", lambda d: (self.wrong.append("a dialog"), d.dismiss()))
        self.page.on("request", lambda r: self.asked_for.append(r.url))
        self.page.goto(path.as_uri())

    def feature(self, number: int) -> str:
        self.page.evaluate(f"location.hash = '#feature-{number}'")
        self.page.wait_for_selector(f"#feature[data-shown='{number}']")
        return str(self.page.locator("#feature").inner_text())

    def close(self) -> None:
        self.context.close()


def test_hostile_texts_stay_texts(browser: Any, one_file: Path, in_blocks: Path) -> None:
    seen = []
    for path in (one_file, in_blocks):
        visit = Visit(browser, path)
        visit.page.wait_for_selector("#list-body[data-ready]")
        assert "\u202e" not in visit.page.content(), "no mark of direction, nowhere"
        texts = [visit.feature(number) for number in range(8)]
        assert visit.wrong == []
        assert visit.page.evaluate("window.ran") is None, "no text became a script"
        assert visit.page.locator("main img, main iframe, main svg [onload]").count() == 0
        outside = [u for u in visit.asked_for if not u.startswith(path.parent.as_uri())]
        assert outside == []
        seen.append(texts)
        visit.close()
    assert seen[0] == seen[1], "one file or a folder, the same is said"
    whole = "\n".join(seen[0])
    for text in EVIL[:4]:
        assert str(text) in whole, "markup is shown as it is written"
    for escape in ("\\u202e", "\\u2066", "\\u0000", "\\u001b", "\\u2028", "\\xff", "↵", "⇥"):
        assert escape in whole, escape
    assert "\u202e" not in whole and "1,000,000 bytes" in whole
    assert "y" * 64 in whole and "y" * 65 not in whole
    assert "could not be read" in seen[0][0] and "✗ wrong" in seen[0][0]
    assert "never active" in seen[0][7]


def test_tokens_that_share_a_character_are_put_together(browser: Any, tmp_path: Path) -> None:
    vocabulary = Vocabulary.of([b" \xf0\x9f", b"\x98\x80", " smile"])
    evidence = drawn_codes(np.full(30, 3), 8, 2, 3)
    tokens = Ragged(np.tile(np.array([0, 1, 2], np.int32), 30), evidence.tokens.starts)
    path = feature_pages(replace(evidence, tokens=tokens), vocabulary, tmp_path)
    visit = Visit(browser, path)
    visit.page.wait_for_selector("#list-body[data-ready]")
    visit.feature(0)
    contexts = visit.page.locator(".contexts").first.inner_text()
    assert "😀 smile" in contexts and "\\x" not in contexts
    visit.close()


def test_without_scripts_the_summary_is_read(browser: Any, in_blocks: Path) -> None:
    visit = Visit(browser, in_blocks, java_script_enabled=False)
    said = visit.page.locator("main").inner_text()
    assert "beat random directions" in said and "need JavaScript" in said
    visit.close()


def test_axe_finds_nothing(browser: Any, tmp_path: Path) -> None:
    path = evil_pages(tmp_path, strongest=3, per_tenth=0)
    for width, scheme, feature in ((1280, "light", None), (400, "dark", 0)):
        view = {"width": width, "height": 900}
        visit = Visit(browser, path, viewport=view, color_scheme=scheme)
        visit.page.wait_for_selector("#list-body[data-ready]")
        if feature is not None:
            visit.feature(feature)
        axe_clean(visit.page)
        assert visit.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        visit.close()


def test_the_list_is_searched_ordered_and_filtered(browser: Any, in_blocks: Path) -> None:
    visit = Visit(browser, in_blocks)
    page = visit.page
    page.wait_for_selector("#list-body[data-ready]")
    numbers = "#list tbody th a"
    page.locator("#list thead button").nth(2).click()
    rates = [
        float(t.split()[0]) for t in page.locator("#list tbody td:nth-child(3)").all_inner_texts()
    ]
    assert rates == sorted(rates, reverse=True) and rates[-1] == 0
    page.select_option("#list select", "dead")
    assert page.locator(numbers).all_inner_texts() == ["7", "15", "23"]
    page.fill("#list input", "15")
    page.locator("#list [role=status]", has_text="1–1 of 1 found among 24").wait_for()
    page.locator(numbers).click()
    page.wait_for_selector("#feature[data-shown='15']")
    assert page.locator("#dictionary").is_hidden()
    page.go_back()
    page.wait_for_selector("#dictionary:not([hidden])")
    visit.close()


def test_features_are_found_by_their_words_and_effects(browser: Any, tmp_path: Path) -> None:
    words = Vocabulary.of(["sea", " ship", " port", " tea"])
    logits = LatentLogits(np.array([[3, 0]] * 7 + [[1, 0]]), np.full((8, 2), 0.5, np.float32))
    effects = {2: [MeasuredEffect("ablation", "the sea", "yes", "It moves the target.")]}
    evidence = drawn_codes(np.full(60, 5), 8, 2, 3)
    path = feature_pages(evidence, words, tmp_path, logits=logits, effects=effects)
    visit = Visit(browser, path)
    page, numbers = visit.page, "#list tbody th a"
    page.wait_for_selector("#list-body[data-ready]")
    page.fill("#list input", "TEA")
    page.locator("#list [role=status]", has_text="7 found among 8").wait_for()
    page.fill("#list input", "")
    page.select_option("#list select", "effect")
    assert page.locator(numbers).all_inner_texts() == ["2"]
    text = visit.feature(2)
    assert "What it causes" in text and "It moves the target." in text
    first = page.locator(".logits ol").first.inner_text()
    assert first.split() == ["tea", "0.500"]
    visit.close()
    with pytest.raises(EvidenceError, match="8 latents"):
        feature_pages(drawn_codes(np.full(60, 5), 9, 2, 3), words, tmp_path / "b", logits=logits)


def test_marks_have_grades_and_numbers(browser: Any, one_file: Path) -> None:
    visit = Visit(browser, one_file)
    visit.page.wait_for_selector("#list-body[data-ready]")
    visit.feature(0)
    marks = visit.page.locator(".contexts mark")
    grades = marks.evaluate_all("m => [...new Set(m.map(x => x.className.split(' ')[0]))].sort()")
    assert grades == ["g1", "g2", "g3", "g4", "g5"]
    thick = marks.evaluate_all("""m => m.map(x => [x.className[1],
        parseFloat(getComputedStyle(x).textDecorationThickness)])""")
    assert all((a[1] < b[1]) == (a[0] < b[0]) for a in thick for b in thick if a[0] != b[0])
    first = visit.page.locator(".contexts li").first
    assert float(first.locator(".number").inner_text().split()[0]) > 0
    assert not first.locator(".amount").first.is_visible()
    visit.page.get_by_label("a number at every mark").check()
    assert first.locator(".amount").first.is_visible()
    visit.close()


def test_a_text_of_a_million_tokens_is_cut(tmp_path: Path) -> None:
    evidence = drawn_codes(np.array([1_000_000, 3]), 8, 1, 2)
    nothing = Ragged(np.zeros(0, np.int32), evidence.tokens.starts,
                     np.zeros(len(evidence.tokens.flat) + 1, np.int64))  # fmt: skip
    evidence = replace(evidence, holds=nothing, predicates=Predicates(("token x",)))
    path = feature_pages(evidence, Vocabulary.of(["a", "b"]), tmp_path)
    assert path.stat().st_size < 200_000


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    evidence = drawn_codes(np.full(30, 5), 8, 2, 4)
    words = Vocabulary.of(["a", "b", "c", "d"])
    with pytest.raises(EvidenceError, match="another tokenizer"):
        feature_pages(evidence, Vocabulary.of(["a"]), tmp_path / "a")
    for options in ({"strongest": -1}, {"width": 3}, {"per_tenth": True}, {"seed": 0.5}):
        with pytest.raises(EvidenceError, match=next(iter(options))):
            feature_pages(evidence, words, tmp_path / "a", **options)  # type: ignore[arg-type]
    beside = {"random directions": drawn_codes(np.full(30, 5), 8, 2, 4, seed=1)}
    with pytest.raises(EvidenceError, match="other tokens"):
        feature_pages(evidence, words, tmp_path / "a", beside=beside)
    assert not (tmp_path / "a").exists()
    feature_pages(evidence, words, tmp_path / "b")
    with pytest.raises(EvidenceError, match="overwrite"):
        feature_pages(evidence, words, tmp_path / "b")
