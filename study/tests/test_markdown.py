"""Texts of researchers on pages: what they may contain, and that what is agreed to is what is shown."""

import hashlib
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite_study.model.markdown import (
    CONSENT_BEGINS,
    CONSENT_ENDS,
    extract_consent,
    render_consent,
    render_html,
)


def consent_part(shown: bytes) -> bytes:
    return CONSENT_BEGINS + shown + CONSENT_ENDS


TAGS = {"p", "ul", "ol", "li", "h2", "h3", "em", "strong", "a"}
ATTRIBUTES = {"a": {"href", "rel", "title"}, "ol": {"start"}}
HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![x](https://example.org/a.png)",
    "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))", "[x](data:text/html;base64,AAAA)", "[x](vbscript:x)",
    "[x](http://example.org)", "[x](//example.org)", "[x](/staff)", "[x](https:example.org)",
    "[x](https://good.org@evil.org/)", "[x](https://good.org\\@evil.org/)", "<javascript:alert(1)>",
    "[x](mailto:a@b.org?bcc=all@b.org)", "<!-- end of consent -->", "</main><p>", "&lt;b&gt;",
    "[x]: javascript:alert(1)\n\n[x]", '[x](https://a.org "t\\" onclick=\\"alert(1)")',
    "`<b>`", "    <b>", "> quoted", "***", "| a | b |\n|---|---|\n| 1 | 2 |", "~~x~~", "```\n<b>\n```",
    "<https://a.org/\" onclick=alert(1)>", "[x](<https://a.org/\" onclick=\"alert(1)>)", "\x00<b>",
]  # fmt: skip


class Seen(HTMLParser):
    """Tags with their attributes, and comments."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.strange: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.strange.append(f"/{tag}")

    def handle_comment(self, data: str) -> None:
        self.strange.append(data)

    def handle_decl(self, decl: str) -> None:
        self.strange.append(decl)

    def handle_pi(self, data: str) -> None:
        self.strange.append(data)


def harmless(markdown: str) -> None:
    html = render_html(markdown)
    seen = Seen(html)
    assert seen.strange == [] and seen.open == [], html
    for tag, attributes in seen.tags:
        assert tag in TAGS, html
        assert attributes.keys() <= ATTRIBUTES.get(tag, set()), html
        if tag == "a":
            assert str(attributes["href"]).lower().startswith(("https://", "mailto:")), html
            assert attributes["rel"] == "noreferrer noopener", html


def test_the_subset() -> None:
    html = render_html(
        "# One\n\n## Two\n\n#### Four\n\nA *b* **c** [d](https://a.org/x) <mailto:x@a.org>\n\n- e\n- f\n\n3. g"
    )
    assert html == (
        "<h2>One</h2>\n<h2>Two</h2>\n<h3>Four</h3>\n<p>A <em>b</em> <strong>c</strong> "
        '<a href="https://a.org/x" rel="noreferrer noopener">d</a> '
        '<a href="mailto:x@a.org" rel="noreferrer noopener">mailto:x@a.org</a></p>\n'
        '<ul>\n<li>e</li>\n<li>f</li>\n</ul>\n<ol start="3">\n<li>g</li>\n</ol>\n'
    )


@pytest.mark.parametrize("markdown", HOSTILE)
def test_hostile_texts_stay_texts(markdown: str) -> None:
    harmless(markdown)
    harmless(f"- a {markdown} *b*")
    html = render_html(markdown)
    assert "evil" not in "".join(str(a.get("href")) for _, a in Seen(html).tags)
    assert "<img" not in html and "<script" not in html and "<!--" not in html


pieces = st.sampled_from(
    [*"<>\"'&[]()!*_#-+`\\:/ \n\t", "https://", "javascript:", "mailto:", "a", "b.org", "@", "<!--",
     "-->", "<a ", "href=", "on", "&#x", ";", "1.", "## ", "\u202e", "\x00", "](", "<https://a>"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(pieces, max_size=40).map("".join))
def test_no_text_makes_anything_else(markdown: str) -> None:
    harmless(markdown)


@pytest.mark.parametrize(
    "piece", ["[", "![", "*a ", "**a*", "[a](", "- ", "> ", "<a ", "&", "\\", "_a_", "1. a\n"]
)
def test_the_longest_text_takes_no_long_time(piece: str) -> None:
    begun = time.process_time()
    render_html((piece * 20_000)[:20_000])
    assert time.process_time() - begun < 3


def test_the_consent_of_a_page_is_what_was_agreed_to() -> None:
    for markdown in (
        "You may *stop*.",
        "Sie können – jederzeit – aufhören. <!-- end of consent -->",
        "أوافق",
    ):
        shown = render_consent(markdown)
        page = b"<main>" + consent_part(shown) + b"</main><form>"
        assert hashlib.sha256(extract_consent(page)).digest() == hashlib.sha256(shown).digest()
        assert extract_consent(page.replace(b"<form>", b"<FORM>")) == shown, (
            "surroundings may change"
        )
        at = page.index(CONSENT_BEGINS) + len(CONSENT_BEGINS) + 4
        other = page[:at] + bytes([page[at] ^ 1]) + page[at + 1 :]
        assert extract_consent(other) != shown, "not one byte of it"
    assert render_consent("a\r\nb") == render_consent("a\nb")


@pytest.mark.parametrize(
    "page",
    [b"", CONSENT_BEGINS, CONSENT_ENDS + CONSENT_BEGINS, consent_part(b"a") + consent_part(b"b")],
)
def test_a_page_without_one_consent_is_refused(page: bytes) -> None:
    with pytest.raises(ValueError, match="consent"):
        extract_consent(page)


@pytest.mark.parametrize("markdown", ["Write to {contact}.", " \n"])
def test_a_consent_with_gaps_is_none(markdown: str) -> None:
    with pytest.raises(ValueError, match="consent"):
        render_consent(markdown)
