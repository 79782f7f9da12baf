"""The README and the docs say what is so."""

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from support import docs_page
from theodolite._runs.folder.spec import read_spec
from theodolite._verdicts.gates.judge import read_thresholds
from theodolite.cli.program import program
from theodolite.metrics.catalogue import catalogue

ROOT = Path(__file__).parents[2]


def test_every_metric_is_cited_and_explained() -> None:
    references = (ROOT / "src/theodolite/metrics/references.bib").read_text()
    guide = (ROOT / "docs" / "guide.md").read_text()
    for entry in catalogue().values():
        assert f"{{{entry.cite}," in references
        assert f"`{entry.name}`" in guide


def test_guide_names_the_metrics_that_decide() -> None:
    guide = (ROOT / "docs" / "guide.md").read_text()
    table = guide.partition("| the verdict is read from |")[2].partition("\n\n")[0]
    own = [m for m in catalogue().values() if m.state.__module__.startswith("theodolite.")]
    assert set(re.findall(r"`(\w+)`", table)) == {m.name for m in own if m.decides}
    leakage = (ROOT / "docs" / "leakage.md").read_text()
    decides = re.findall(r"`(\w+)`, which decides", leakage)
    assert decides == ["joint_task_leakage", "predictive_embedding_leakage"]


def test_sidebar_has_at_most_twelve_entries() -> None:
    trees = re.findall(r"```{toctree}\n(.*?)```", (ROOT / "docs/index.md").read_text(), re.DOTALL)
    entries = [line for tree in trees for line in tree.splitlines() if re.match(r"[^:\s]", line)]
    assert 6 <= len(entries) <= 12, entries


PAGES = [
    "README.md",
    *sorted(
        str(page.relative_to(ROOT))
        for page in (ROOT / "docs").rglob("*.md")
        if "_made" not in page.parts
    ),
]
FOLLOWED = [f"docs/{name}.md" for name in ("audit", "gate", "compare", "exports", "dossier")]
"""Pages whose commands are run for real; those of the others are held against the command line."""


BY_THE_TRANSCRIPT = ("README.md", "docs/start.md", "docs/extending.md")
"""They are followed by `.ci/transcript.py`, with nothing but the wheel."""


def runnable(page: str) -> bool:
    """Whether a page has something to run here, and what it needs is at hand."""
    if page in BY_THE_TRANSCRIPT:
        return False
    kinds = {block.kind for block in docs_page.blocks(ROOT / page)}
    needed = {"python", "console"} if page in FOLLOWED else {"python"}
    at_hand = (n in os.environ for n in docs_page.needs(ROOT / page) if n.isupper())
    return bool(kinds & needed) and all(at_hand)


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What went wrong on each page."""
    jobs = []
    for page in filter(runnable, PAGES):
        folder = tmp_path_factory.mktemp("page")
        jobs.append((page, str(ROOT / page), str(folder), page in FOLLOWED))
    done = subprocess.run(
        [sys.executable, docs_page.__file__],
        input=json.dumps(jobs), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed(page: str, faults: dict[str, str]) -> None:
    if not runnable(page):
        pytest.skip("nothing to run, or not all that it needs")
    assert not faults[page]


def options_of(arguments: list[str]) -> tuple[str, set[str], list[str]]:
    """The command that is meant, its options, and those that were given."""
    command, path = program(), []
    rest = list(arguments)
    while hasattr(command, "list_commands"):
        if getattr(command, "default", "") and (
            not rest or command.get_command(None, rest[0]) is None
        ):
            rest.insert(0, command.default)
        if not rest or rest[0].startswith("-"):
            break
        path.append(rest.pop(0))
        command = command.get_command(None, path[-1])
        assert command is not None, f"there is no command {' '.join(path)!r}"
    known = {
        o for parameter in command.params for o in (*parameter.opts, *parameter.secondary_opts)
    }
    given = [part.partition("=")[0] for part in rest if re.match(r"--?[a-z]", part)]
    return " ".join(path), known | {"--help", "--version"}, given


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_the_docs_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    result = [c for block in docs_page.blocks(ROOT / page) for c in docs_page.commands(block)]
    result += re.findall(r"`(theodolite [a-z][^`\n]*)`", text)
    for command in result:
        path, known, given = options_of(shlex.split(command, comments=True)[1:])
        unknown = [option for option in given if option not in known]
        assert not unknown, f"{page}: theodolite {path} has no {unknown}"


def test_commands_that_do_not_exist_are_noticed() -> None:
    with pytest.raises(AssertionError, match="no command 'data invent'"):
        options_of(["data", "invent"])
    assert "--nonsense" not in options_of(["audit", "--nonsense"])[1]


@pytest.mark.parametrize("page", PAGES)
def test_yaml_in_the_docs_is_read(page: str, tmp_path: Path) -> None:
    for number, block in enumerate(docs_page.blocks(ROOT / page)):
        if block.kind != "yaml":
            continue
        path = tmp_path / f"{number}.yaml"
        path.write_text(block.text)
        content = yaml.safe_load(block.text)
        if {"questions", "scores", "drift"} & set(content):
            read_thresholds(path)
        elif "name" in content and {"dataset", "evidence", "pipeline"} & set(content):
            read_spec(path)


@pytest.mark.parametrize("page", ["data-format.md", "scale.md"])
def test_specs_in_the_docs_are_specs(page: str, tmp_path: Path) -> None:
    specs = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    assert specs
    for number, spec in enumerate(specs):
        (tmp_path / f"{number}.yaml").write_text(spec)
        assert read_spec(tmp_path / f"{number}.yaml").name in ("mine", "units")


def test_links_in_the_docs_lead_somewhere() -> None:
    for page in (ROOT / name for name in PAGES):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target and not target.startswith("_made/"):
                assert (page.parent / target).exists(), (page.name, target)


def test_options_in_the_guide_of_location_are_the_defaults() -> None:
    guide = (ROOT / "docs" / "located.md").read_text()
    location = catalogue()["concept_location"].options()
    for name in ("order", "population", "among", "invisible", "sides", "ties", "average"):
        (row,) = [line for line in guide.splitlines() if f"| `{name}` |" in line]
        assert f"`{location[name]}`" in row


@pytest.mark.parametrize(
    ("added", "says"),
    [
        ('<a href="#here" id="here">x</a><img src="x.svg"><a href="https://example.org">x</a>', ""),
        ('<script src="https://example.org/x.js"></script>', "fetches https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "fetches //example.org/x.css"),
        ('<a href="nowhere.html">x</a>', "nowhere.html, which is not there"),
        ('<a href="#nowhere">x</a>', "#nowhere, which has no such place"),
        ('<span class="math notranslate">x</span>', "mathematics that was not made"),
    ],
)
def test_faults_of_a_site_are_noticed(
    tmp_path: Path, added: str, says: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """`.ci/docs.sh` makes the whole site and checks it so, in a process of its own."""
    (tmp_path / "index.html").write_text(f"<p>{added}</p>")
    check = str(ROOT / "docs/_ext/check_site.py")
    monkeypatch.setattr(sys, "argv", [check, str(tmp_path)])
    monkeypatch.syspath_prepend(ROOT / "docs/_ext")
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(check, run_name="__main__")
    told = capsys.readouterr().out.splitlines()
    lines = [line for line in told if line.startswith("index.html")]
    assert len(lines) == bool(says) and says in "".join(lines)
    metrics = [line for line in told if line.startswith("no page explains")]
    assert ended.value.code == 1 and len(metrics) == len(catalogue())


def thumbnails() -> dict[str, Path]:
    """What each example of the gallery names as its thumbnail."""
    named = {}
    for path in sorted((ROOT / "docs/gallery").glob("plot_*.py")):
        (name,) = re.findall(
            r"^# sphinx_gallery_thumbnail_path = '(.+)'$", path.read_text("utf-8"), re.MULTILINE
        )
        named[path.stem] = ROOT / "docs" / name
    return named


def thumbnail_faults(text: str) -> list[str]:
    """Why an image is no thumbnail: another size, a scaled page, or text that nobody can read."""
    root = ElementTree.fromstring(text)  # noqa: S314  our own
    kinds = [element.tag.rpartition("}")[2] for element in root.iter()]
    words = [element for element in root.iter() if element.tag.endswith("}text")]
    faults = {
        "size": root.get("viewBox") != "0 0 400 280",
        "image inside": bool({"image", "foreignObject"} & set(kinds)),
        "no text, or a page of it": not 1 <= len(words) <= 6,
        "small text": any(float(element.get("font-size", 0)) < 14 for element in words),
        "transformed": any(element.get("transform") for element in root.iter()),
    }
    return [name for name, holds in faults.items() if holds]


def test_thumbnails_of_the_gallery_are_drawn_for_their_size() -> None:
    assert len(thumbnails()) >= 6
    for name, path in thumbnails().items():
        assert not thumbnail_faults(path.read_text("utf-8")), name
    text = path.read_text("utf-8")
    assert thumbnail_faults(text.replace('font-size="16"', 'font-size="12"')) == ["small text"]
    page = re.sub(r"</svg>", '<image href="report.png" width="400" height="280"/></svg>', text)
    assert thumbnail_faults(page) == ["image inside"]
    assert thumbnail_faults(text.replace("0 0 400 280", "0 0 1280 896")) == ["size"]
