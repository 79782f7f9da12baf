"""A section for a model card: true, harmless, and the rest of the card is left alone."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.evidence.two_questions import finished
from support.runs.command_line import theodolite
from theodolite._runs.folder.checksums import write_checksums
from theodolite.cli.commands.export import export
from theodolite.errors import EvidenceError, VerificationError
from theodolite.report.exports.markdown_text import markdown_code, markdown_text
from theodolite.report.exports.model_card import (
    BEGIN,
    END,
    model_card_section,
    update_model_card,
    write_model_card,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("card") / "run")


def test_it_says_what_was_found(folder: Path) -> None:
    section = model_card_section(folder)
    assert section.startswith(f"{BEGIN}\n\n## Explanations\n")
    assert section.endswith(f"\n\n{END}")
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    assert len(rows) == 3
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows)
    assert rows[1].endswith("| 16 samples |")
    silent = next(line for line in section.splitlines() if line.startswith("Not evaluated: "))
    assert "not among" in silent and "detects" not in silent
    assert "Is the named concept in the input?" in rows[1]
    assert re.search(r"50\.0 % \\\[\d\d\.\d, \d\d\.\d\\\]", rows[1])  # value, interval
    assert re.search(r"\(\d+\.\d %\)", rows[1])  # and null
    assert "In brackets: 95 % intervals." in section
    assert "25.0 % if the two had nothing to do with each other" in section
    assert "### Limitations\n\n- **Concept existence (CEM):** Presence copied" in section
    assert "theodolite verify run --recompute all" in section


def test_names_do_nothing(folder: Path) -> None:
    section = model_card_section(folder)
    code = section[section.index("````sh") :]
    text = section.replace(code, "")
    assert section.count(END) == 1
    assert text.count("<") == 1  # the marker
    assert "[a](b)" not in text
    assert "*x*" not in text
    assert code.count("````") == 2  # three in the command do not end it


def test_what_a_record_says_is_text_and_its_command_harms_nothing(
    folder: Path, tmp_path: Path
) -> None:
    name = "it's <!-- theodolite: end -->"
    copy = Path(shutil.copytree(folder, tmp_path / name))
    record = json.loads((copy / "run.json").read_text())
    record["started"] = "<b>*x*</b>"
    record["command"] = "theodolite audit --overwrite x.npz --out --overwritten --quiet"
    (copy / "run.json").write_text(json.dumps(record))
    section = model_card_section(copy)
    assert "<b>" not in section and "*x*" not in section
    assert "\ntheodolite audit x.npz --out --overwritten\n" in section
    assert section.count(END) == 1
    assert f"verify {shlex.quote(name.replace('<!--', '<! --'))} --recompute" in section


def test_files_of_others_are_not_replaced_unasked(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "run"))
    write_checksums(copy)
    latex, card = tmp_path / "paper.tex", tmp_path / "README.md"
    card.write_text(model_card_section(copy) + "\n## Mine\n")
    latex.write_text("\\documentclass{article}")
    for given_ in ({"latex": latex}, {"model_card": card}, {"latex": tmp_path}):
        before = [latex.read_text(), card.read_text()]
        with pytest.raises(EvidenceError, match=r"of another program|a folder"):
            export([copy], **given_)
        assert [latex.read_text(), card.read_text()] == before
    for overwrite in (True, False):  # what we wrote we may write again
        export([copy], latex=latex, model_card=card, overwrite=overwrite)
    assert "\\begin{tabular}" in latex.read_text()
    assert "## Mine" not in card.read_text()


def test_a_card_is_updated_and_the_rest_kept(folder: Path, tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    before, after = "---\nlicense: mit\n---\n# Model é\n\n", "\n\n## License\nMIT  \n"
    card.write_bytes(f"{before}{BEGIN}\nfrom before\n{END}{after}".encode())
    update_model_card(card, folder)
    first = card.read_bytes()
    assert first == f"{before}{model_card_section(folder)}{after}".encode()
    assert b"from before" not in first


def test_a_card_without_markers_gets_it_at_the_end(folder: Path, tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_bytes(b"# Model\r\ntext")
    update_model_card(card, folder)
    content = card.read_bytes().decode()
    assert content.startswith(f"# Model\r\ntext\r\n\r\n{BEGIN}\r\n")
    assert "\n" not in content.replace("\r\n", "")


@pytest.mark.parametrize("broken", [BEGIN, END, f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_markers_that_do_not_fit_are_refused(folder: Path, tmp_path: Path, broken: str) -> None:
    card = tmp_path / "README.md"
    card.write_text(broken)
    with pytest.raises(EvidenceError, match="one of each"):
        update_model_card(card, folder)
    assert card.read_text() == broken


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("\\`*_{}[]()#|<>&!~-+1. \n:/w@")) | st.text())
def test_any_text_is_one_harmless_line(text: str) -> None:
    line = markdown_text(text)
    assert "\n" not in line
    assert not set("<>") & set(line)
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]|#]", line)
    assert "://" not in line
    block = markdown_code(text)
    fence = block.partition("\n")[0]
    assert block.count(fence) == 2


def test_the_command(folder: Path, tmp_path: Path) -> None:
    write_checksums(folder)
    latex, card = tmp_path / "tables.tex", tmp_path / "card.md"
    ran = theodolite("export", folder, "--latex", latex)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"latex: {latex}\n"
    assert "\\begin{tabular}" in latex.read_text()
    export([folder], model_card=card)
    assert card.read_text() == write_model_card(tmp_path / "again.md", folder).read_text()
    export([folder], update=card)
    assert card.read_text() == (tmp_path / "again.md").read_text()
    with pytest.raises(EvidenceError, match="--latex, --model-card, --update"):
        export([folder])
    with pytest.raises(EvidenceError, match="2 runs"):
        export([folder, folder], update=card)
    (folder / "scores.json").write_text((folder / "scores.json").read_text() + " ")
    with pytest.raises(VerificationError):
        export([folder], latex=latex)
