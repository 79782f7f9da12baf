"""Pages in languages: nothing is left in English, lines begin where they should."""

import ast
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from test_serve import Served
from theodolite_study.locale.default_texts import choose_cases, load_default_texts
from theodolite_study.locale.translations import format_money, get_own_name, load_catalog
from theodolite_study.model.pasta import NEEDS, OUTCOMES, build_pasta
from theodolite_study.model.required_texts import iterate_text_keys
from theodolite_study.serve.pages import StudyPages
from theodolite_study.serve.pages import __file__ as pages_file

TEMPLATES = sorted((Path(pages_file).parent / "templates").glob("*.j2"))
JINJA = re.compile(
    r"\{% block kind %\}.*?\{% endblock %\}|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL
)
"""Also the name of a class of styles."""
SPOKEN = ("alt", "aria-label", "title", "placeholder")


class Visible(HTMLParser):
    """What people read or hear."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value for name, value in attrs if name in SPOKEN and value]

    def handle_data(self, data: str) -> None:
        self.texts.append(" ".join(data.split()))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_every_word_of_a_template_is_marked(template: Path) -> None:
    plain = JINJA.sub("", template.read_text())
    assert [text for text in Visible(plain).texts if re.search("[A-Za-z]{2}", text)] == []


def german() -> dict[str, str]:
    """Our German texts of a study that pays, as far as they have no facts of a study."""
    texts = load_default_texts("de")
    return {
        key: choose_cases(body, ("amount",)) for key, body in texts.items() if key != "debriefing"
    }


@pytest.fixture
def served(database_url: str, tmp_path: Path) -> Iterator[Served]:
    place = Served(
        database_url, tmp_path, instances=1, votes=1, quota=1,
        instrument=build_pasta().stored(), settings={"needs": NEEDS, "minutes": 20},
    )  # fmt: skip
    run = place.connection.execute
    run("alter table wording disable trigger wording_frozen")
    for key, body in (german() | {"contact": "x@example.org"}).items():
        run(
            "insert into wording values (%s, %s, 'de', %s)"
            " on conflict (version_id, key, language) do update set body = excluded.body",
            (place.study.version, key, body),
        )
    with place.browser:
        yield place
    place.close()


def in_german(page: Any) -> None:
    """No text of ours in English, and the page says which language it is in."""
    assert page.status_code == 200 and '<html lang="de" dir="ltr">' in page.text
    texts = Visible(re.sub("<!-- consent -->.*?<!-- end", "<!--", page.text, flags=re.DOTALL)).texts
    for message in load_catalog("de"):
        for words in [message.id] if isinstance(message.id, str) else message.id:
            if len(words) > 3 and words != message.string:
                assert words not in texts, words
    assert not re.search(r"\{[a-z]+\}|%\(", "".join(texts)), "a gap"


def test_a_whole_walk_in_german(served: Served) -> None:
    page = served.get("/s/s?lang=de")
    in_german(page)
    assert "<p>Ein Computerprogramm hat Bilder" in page.text and "English</a>" in page.text
    page = served.post(page, "/s/s/begin")
    in_german(page)
    page = served.post(page, "/consent")
    assert page.url.path == "/stage/about"
    in_german(page)
    assert "65 oder älter" in page.text
    page = served.post(page, "/stage/about", gender="woman")
    in_german(page)
    assert "dass es „cat“ ist?" in unescape(page.text) and "So geht es" in page.text
    item = page.url.path
    page = served.post(page, f"{item}/own", words="ein Horn", regions_nothing="yes")
    in_german(page)
    assert "Das Programm sagte: „cat“" in unescape(page.text)
    in_german(served.get("/stop"))
    in_german(served.get("/withdraw"))
    page = served.post(page, f"{item}/ratings", q1="4", q2="4", q3="4", q4="4")
    assert page.url.path == "/stage/end"
    in_german(page)
    places = {
        f"{q}.i{n}": str(n + 1)
        for q, items in (("q7", 5), ("q8", 6), ("q9", 6))
        for n in range(items)
    }
    page = served.post(page, "/stage/end", **places)
    in_german(page)
    assert page.url.path == "/done" and format_money("de", 400, "GBP") in page.text
    assert german()["outcome.finished"] in page.text
    assert german()["thanks"] in page.text


def test_declining_in_german_says_what_is_kept(served: Served) -> None:
    page = served.post(served.get("/s/s?lang=de"), "/s/s/begin")
    page = served.post(page, "/decline")
    in_german(page)
    assert "Ein Fingerabdruck, der mit einem geheimen Schlüssel" in page.text
    assert served.study.one("select count(*) from participant") == 0


def test_lines_from_the_right_and_longer_words() -> None:
    pages = StudyPages()
    context = {"study_state": "paused"}
    assert '<html lang="ar-XB" dir="rtl">' in pages.page("closed", "ar-XB", "", context)
    assert "Thé" not in pages.page("closed", "ar", "", context)
    longer = pages.page("closed", "en-XA", "", context)
    read = [text for text in Visible(longer).texts if re.search("[A-Za-z]{2}", text)]
    assert read and all(re.search("[áçéíñóúý]", text) for text in read), read


def test_names_of_languages_and_amounts() -> None:
    assert [get_own_name(language) for language in ("en", "de", "fr")] == [
        "English",
        "Deutsch",
        "français",
    ]
    assert format_money("en", 400, "GBP") == "£4.00" and format_money("en", 400, "JPY") == "¥400"
    assert format_money("de", 123456, "EUR").replace("\xa0", " ") == "1.234,56 €"


def test_every_outcome_has_words() -> None:
    assert {f"outcome.{name}" for name in OUTCOMES} <= set(
        iterate_text_keys(build_pasta(), OUTCOMES)
    )


def test_refusals_are_in_the_language_of_the_session(served: Served) -> None:
    page = served.post(served.get("/s/s?lang=de"), "/s/s/begin")
    page = served.post(page, "/consent")
    page = served.post(page, "/stage/about", gender="dance")
    assert page.status_code == 422 and '<html lang="de"' in page.text
    assert '<a href="#block-gender">Geschlecht</a> Bitte wählen Sie eine' in page.text
    page = served.get("/nowhere")
    assert page.status_code == 404 and "Diese Seite gibt es nicht." in page.text
    served.browser.cookies.clear()
    page = served.browser.get("/nowhere", headers={"accept-language": "nl, en;q=0.4, fr-CA;q=0.9"})
    assert "Cette page n’existe pas." in page.text and '<html lang="fr"' in page.text
    assert "There is no such page." in served.browser.get("/nowhere").text


def test_every_refusal_of_the_server_is_translated() -> None:
    """Sentences that are raised with a refusal, wherever they stand."""
    known = {message.id for message in load_catalog("de")}
    said = set()
    for path in Path(pages_file).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            if ast.unparse(node.exc.func) != "EvidenceError":  # for those who run it
                said |= {a.value for a in node.exc.args if isinstance(a, ast.Constant)}
    said = {words for words in said if isinstance(words, str)}
    assert len(said) > 5 and said <= known
