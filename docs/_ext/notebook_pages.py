"""A page for each notebook, with what it gives: run by nbclient whenever the site is made.

The notebooks themselves are kept without outputs. One kernel runs them all, as loading libraries
takes longer than most of them do; each begins in an empty folder and knows no name of the others.
"""

import base64
import logging
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from metric_pages import MADE, write
from nbclient import NotebookClient
from sphinx.application import Sphinx

SECONDS = 300
"""The longest that a cell may take."""
COLORED = re.compile(r"\x1b\[[0-9;]*m")


def execute(paths: list[Path], folder: Path) -> list[Any]:
    """Return the notebooks with their outputs."""
    notebooks = [nbformat.read(path, as_version=4) for path in paths]
    together = nbformat.v4.new_notebook()
    for path, notebook in zip(paths, notebooks, strict=True):
        (folder / path.stem).mkdir()
        enter = f"%cd -q {folder / path.stem}\n%reset -f"
        together.cells += [nbformat.v4.new_code_cell(enter), *notebook.cells]
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    NotebookClient(
        together,
        timeout=SECONDS,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],
    ).execute()
    return notebooks


def fenced(kind: str, text: str) -> list[str]:
    """A block that nothing in the text can end."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text) or ["``"]))
    return [f"{fence}{kind}", text.rstrip("\n"), fence, ""]


def joined(outputs: Iterable[Any]) -> list[Any]:
    """What was printed in several goes as one."""
    result: list[Any] = []
    for output in outputs:
        if result and output.output_type == result[-1].output_type == "stream":
            result[-1].text += output.text
        else:
            result.append(output)
    return result


def output_lines(output: Any, image: Path) -> Iterator[str]:
    """What a cell gave: an image, else HTML, else text."""
    data = output.get("data", {})
    if "image/png" in data:
        image.write_bytes(base64.b64decode(data["image/png"]))
        yield from (f"![What the cell above draws]({image.name})", "")
    elif "text/html" in data:
        yield from fenced("{raw} html", f'<div class="cell-output">{data["text/html"]}</div>')
    else:
        text = output.get("text") or data.get("text/plain", "")
        yield from fenced("text", COLORED.sub("", text))


def page(notebook: Any, name: str, folder: Path) -> str:
    """Cells and outputs in order."""
    lines: list[str] = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            lines += [cell.source, ""]
            continue
        commands = cell.source.removeprefix("%%bash\n")
        if commands != cell.source:
            typed = "\n".join(f"$ {line}" for line in commands.splitlines())
            lines += fenced("console", typed)
        else:
            lines += fenced("python", cell.source)
        for output in joined(cell.outputs):
            lines += output_lines(output, folder / f"{name}-{number}.png")
    lines += [f"{{download}}`This page as a notebook <../../notebooks/{name}.ipynb>`", ""]
    return "\n".join(lines)


def make(app: Sphinx) -> None:
    """All notebooks."""
    source, folder = Path(app.srcdir) / "notebooks", Path(app.srcdir) / MADE / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    paths = sorted(source.glob("*.ipynb"))
    with tempfile.TemporaryDirectory() as work:
        for path, notebook in zip(paths, execute(paths, Path(work)), strict=True):
            write(folder / f"{path.stem}.md", page(notebook, path.stem, folder))


def lead_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links to the files, which read well in the repository, lead to their pages here."""
    del app
    up = "../" * docname.count("/")
    source[0] = re.sub(
        r"\]\(notebooks/(\w+)\.ipynb\)", rf"]({up}{MADE}/notebooks/\1.md)", source[0]
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Before anything is read."""
    app.connect("builder-inited", make, priority=100)
    app.connect("source-read", lead_to_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
