"""Mathematics as MathML, made when the pages are built: nothing is fetched when they are read."""

from typing import Any, Literal

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from theodolite.report.formulas import formula

LOGGER = logging.getLogger(__name__)


def mathml(tex: str, display: Literal["block", "inline"]) -> str:
    """One formula, as reports have it; one that cannot be set is left as written and warned of."""
    written = " ".join(tex.split()).replace(r"\#", r"\text{#}")
    made = str(formula(written, display))
    if "<code>" in made:
        LOGGER.warning("a command of this formula was not understood: %s", written)
    return made


def inline(self: Any, node: nodes.math) -> None:
    """A formula in a sentence."""
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """A formula of its own; it scrolls on a narrow screen."""
    made = mathml(node.astext(), "block")
    self.body.append(f'<div class="formula" tabindex="0" role="group">{made}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
