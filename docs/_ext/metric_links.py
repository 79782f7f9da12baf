"""The name of a score, written as code on any page, leads to the page of that score.

Sources stay plain Markdown, which reads well wherever they are shown.
"""

from typing import Any

from docutils import nodes
from metric_pages import FOLDER
from sphinx.application import Sphinx

from theodolite.metrics.catalogue import catalogue


def link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Wrap each such name in a reference, but for those that are one already."""
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext()
        page = f"{FOLDER}/{name}"
        if name not in catalogue() or page == docname or _inside(literal):
            continue
        target = app.builder.get_relative_uri(docname, page)
        reference = nodes.reference("", "", internal=True, refuri=target)
        literal.parent.replace(literal, reference)
        reference += literal


def _inside(node: nodes.Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.reference | nodes.title):
            return True
    return False


def setup(app: Sphinx) -> dict[str, Any]:
    """Do it once references are resolved."""
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
