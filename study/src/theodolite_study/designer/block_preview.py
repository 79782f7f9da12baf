"""A block as participants see it, from the templates of their pages."""

from functools import cache

from jinja2 import Template
from markupsafe import Markup

from theodolite_study.designer.changes import VersionContent
from theodolite_study.model.blocks import BaseBlock
from theodolite_study.model.orders import orders_of
from theodolite_study.serve.block_views import FormFields, block_view
from theodolite_study.serve.pages import environment, words_in

SHOWN = '{% import "blocks.html.j2" as shown with context %}{{ shown.block(view, orders) }}'


def block_html(content: VersionContent, block: BaseBlock, language: str) -> Markup:
    """The block in a language, with what is stored of its texts."""
    prefix = f"{block.name}."
    texts = {
        key.removeprefix(prefix): body
        for (key, spoken), body in content.texts.items()
        if spoken == language and key.startswith(prefix)
    }
    view = block_view(block, texts, language, FormFields(), label="…")
    pages = [page for stage in ("door", "about", "before", "after", "end")
             for page in getattr(content.instrument, stage)]  # fmt: skip
    html = _template().render(view=view, orders=orders_of(pages, "preview"), _=words_in(language))
    return Markup(html)  # noqa: S704  escaped by its own template


@cache
def _template() -> Template:
    return environment().from_string(SHOWN)
