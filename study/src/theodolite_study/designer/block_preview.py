"""Render a block as participants see it, with the templates of their pages."""

from functools import cache

from jinja2 import Template
from markupsafe import Markup

from theodolite_study.designer.version_changes import VersionContent
from theodolite_study.model.block_orders import compute_orders
from theodolite_study.model.blocks import BaseBlock
from theodolite_study.serve.block_views import FormFields, build_block_view
from theodolite_study.serve.pages import get_translator, make_environment

BLOCK_TEMPLATE = (
    '{% import "blocks.html.j2" as shown with context %}{{ shown.block(view, orders) }}'
)


def render_block(content: VersionContent, block: BaseBlock, language: str) -> Markup:
    """Render a block in a language, with its stored texts."""
    prefix = f"{block.name}."
    texts = {
        key.removeprefix(prefix): body
        for (key, spoken), body in content.texts.items()
        if spoken == language and key.startswith(prefix)
    }
    view = build_block_view(block, texts, language, FormFields(), label="…")
    pages = [page for stage in ("door", "about", "before", "after", "end")
             for page in getattr(content.instrument, stage)]  # fmt: skip
    html = _template().render(
        view=view, orders=compute_orders(pages, "preview"), _=get_translator(language)
    )
    return Markup(html)  # noqa: S704  escaped by its own template


@cache
def _template() -> Template:
    return make_environment().from_string(BLOCK_TEMPLATE)
