"""Render researchers' Markdown as safe HTML: paragraphs, lists, headings, emphasis, links only."""

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

RULES = ("list", "heading", "emphasis", "link", "autolink", "escape", "entity", "balance_pairs")
TOP_HEADING_LEVEL, BOTTOM_HEADING_LEVEL = 2, 3
"""Heading levels of these texts. The first heading of a page is ours; levels below the third are
not needed."""
REL = "noreferrer noopener"
ADDRESS = re.compile(
    r"https://[^/?#@\\\s]+([/?#][^\s\\]*)?|mailto:[^?@\s]+@[^?@\s]+", re.IGNORECASE
)
"""Allowed links. A user name before a host would imitate another host; gaps are not filled in
links."""
GAP = re.compile(r"\{[a-z_]+\}")
EMPTY_BOX = "[ ] "
TICK = (
    '<label class="choice"><input type="checkbox" name="tick" value="{number}" form="agree" '
    "required> "
)
TICK_PATTERN = r'<input type="checkbox" name="tick" value="([0-9]+)" form="agree" required>'
"""Checkboxes in the rendered consent. No text can contain one: `<` is always escaped."""
CONSENT_BEGINS = b"<!-- consent -->"
CONSENT_ENDS = b"<!-- end of consent -->"
"""Comments around the bytes of a consent whose digest is recorded."""


def render_html(markdown: str) -> str:
    """Render Markdown as HTML that is safe to put on a page.

    >>> render_html("Ask *us*: <b>")
    '<p>Ask <em>us</em>: &lt;b&gt;</p>\\n'
    """
    parser = _parser()
    tokens = parser.parse(markdown)
    _restrict_headings_and_links(tokens)
    return str(parser.renderer.render(tokens, parser.options, {}))


def render_consent(markdown: str) -> bytes:
    """Render a consent to the bytes whose SHA-256 participants agree to.

    Lines of lists that begin with ``[ ]`` become boxes, each of which has to be ticked.

    >>> render_consent("- [ ] I am 18").count(b"required")
    1

    Raises:
        ValueError: If a gap such as ``{contact}`` was not filled in, or nothing is said.
    """
    gap = GAP.search(markdown)
    if gap is not None:
        raise ValueError(f"the consent has a gap that is not filled in: {gap[0]}")
    if not markdown.strip():
        raise ValueError("the consent says nothing")
    parser = _parser()
    tokens = parser.parse(markdown)
    _restrict_headings_and_links(tokens)
    _render_ticks(tokens)
    return str(parser.renderer.render(tokens, parser.options, {})).encode()


def _render_ticks(tokens: Sequence[Token]) -> None:
    """Render boxes at the start of list items, as inputs of the form after the text."""
    number = 0
    for place, token in enumerate(tokens[2:], 2):
        words = token.children or []
        inside = [opening.type for opening in tokens[place - 2 : place]]
        if inside != ["list_item_open", "paragraph_open"] or not words:
            continue
        if words[0].type == "text" and words[0].content.startswith(EMPTY_BOX):
            number += 1
            words[0].content = words[0].content[len(EMPTY_BOX) :]
            before, after = Token("html_inline", "", 0), Token("html_inline", "", 0)
            before.content = TICK.format(number=number)
            after.content = "</label>"
            token.children = [before, *words, after]


def find_ticks(consent: bytes) -> list[str]:
    """Return the numbers of the boxes that must be ticked in a consent.

    >>> find_ticks(render_consent("- [ ] I am 18\\n- [ ] I agree"))
    ['1', '2']
    """
    return re.findall(TICK_PATTERN, consent.decode())


def extract_consent(page: bytes) -> bytes:
    """Extract the consent from a page. No text can contain its comments: `<` is always escaped.

    >>> extract_consent(b"x<!-- consent --><p>Yes</p><!-- end of consent -->y")
    b'<p>Yes</p>'

    Raises:
        ValueError: If there is none, or more than one.
    """
    if page.count(CONSENT_BEGINS) != 1 or page.count(CONSENT_ENDS) != 1:
        raise ValueError("a page shows one consent, between its two comments")
    _, _, rest = page.partition(CONSENT_BEGINS)
    consent, end, _ = rest.partition(CONSENT_ENDS)
    if not end:
        raise ValueError("the consent ends before it begins")
    return consent


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero", {"html": False, "linkify": False, "typographer": False})
    parser.enable(list(RULES))
    parser.disable("image", ignoreInvalid=True)
    parser.validateLink = lambda url: ADDRESS.fullmatch(url) is not None  # type: ignore[method-assign]
    return parser


def _restrict_headings_and_links(tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            level = min(max(int(token.tag[1:]), TOP_HEADING_LEVEL), BOTTOM_HEADING_LEVEL)
            token.tag = f"h{level}"
        elif token.type == "link_open":
            token.attrSet("rel", REL)
        _restrict_headings_and_links(token.children or ())
