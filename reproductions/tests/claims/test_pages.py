"""Pages are as the ledger renders them, and say nothing that was withdrawn."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from support.runs.command_line import theodolite
from theodolite._runs.folder.protocols import protocols
from theodolite.errors import UnsafeInputError
from theodolite.metrics.catalogue import catalogue
from theodolite_reproductions.claims.ledger import PAGES, ledger
from theodolite_reproductions.claims.pages import BEGIN, END, rendered, with_part, write_pages
from theodolite_reproductions.claims.results import OptionMove, stored_results
from theodolite_reproductions.claims.status import EntryStatus, statuses
from theodolite_reproductions.claims.verdict import CELL_WORDS
from theodolite_reproductions.claims.words import headline, not_at_hand, ours, printed_figures
from theodolite_reproductions.datasets.tabular_toy import tabular_toy
from theodolite_reproductions.protocols import PROTOCOLS

ROOT = Path(__file__).parents[3]
PLACE = "reproductions/src/theodolite_reproductions/protocols"
DOCS = ROOT / "docs"
DETECTION = "detection_pets_monumai_camvid"
WITHDRAWN = {
    "": (
        r"holds, though less\s+strongly",
        r"differences\s+causes\s+it,\s+this\s+run\s+cannot\s+tell",
        r"breeds\s+are\s+(what|classified|detected)",
        r"after\s+breeds\s+are\s+detected",
        r"turns\s+the\s+correlation\s+a?round",
        r"correlations\s+for\s+each\s+length\s+from",
        r"no\s+method\s+makes\s+up\s+the\s+output",
        r"Table\s+1\s+\(pairs\)",
    ),
    f"{PLACE}/leakage_tabulartoy.yaml": (r"too\s+simple",),
    "docs/fidelity/leakage.md": (r"head\s+too\s+simple",),
}


NAMES = [paper.name for paper in ledger().papers]
WRITTEN = ["fidelity/index", *(f"fidelity/{p}" for p in PAGES), *(f"papers/{n}" for n in NAMES)]


@pytest.mark.parametrize("page", WRITTEN)
def test_pages_are_as_rendered(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text()
    assert with_part(text, page) == text, "theodolite papers findings pages docs"


@pytest.mark.parametrize("name", NAMES)
def test_a_papers_page_names_its_scores_and_runs_listed_protocols(name: str) -> None:
    text = (DOCS / "papers" / f"{name}.md").read_text()
    listed = {protocol.name for protocol in protocols()}
    commands = re.findall(r"theodolite (?:papers )?run ([\w.]+)", text)
    assert commands and set(commands) <= listed
    cited = [m for m in catalogue().values() if (m.cite or "").startswith(f"{name}")]
    known = {paper_name for metric in cited for paper_name in metric.paper_names}
    assert not [paper_name for paper_name in known if paper_name not in text]


def test_every_entry_is_on_its_page_and_no_table_is_torn() -> None:
    for paper in ledger().papers:
        text = rendered(paper.page)
        for entry in paper.entries:
            assert f"| {entry.id}, {entry.where} | {entry.states} |" in text
        rows = [line for line in text.splitlines() if line.startswith("| P")]
        assert {row.count("|") - row.count("\\|") for row in rows} <= {8, 7, 6}


def test_many_cells_are_counted_by_choice() -> None:
    by_id = {status.entry.id: status for status in statuses()}
    rows = re.findall(
        r"^\| (P000-F0-01) \| projection (\w+) \| (.*) \|$", rendered("alignment"), re.M
    )
    assert [choice for _, choice, _ in rows] == ["dot", "margin", "centered"]
    cells = by_id["P000-F0-01"].decided
    for _, choice, counts in rows:
        own = [c.word for c in cells if c.answer.settings["pipeline.projection"] == choice]
        expected = [own.count(word) for word in CELL_WORDS]
        assert [int(n) for n in counts.split(" | ")] == expected and sum(expected) == len(cells) / 3


def test_options_say_how_many_findings_they_surely_move() -> None:
    ends = {"P000-F0-01": (1.0, 3.0), "P000-F0-02": (-1.0, 1.0), "P000-F0-03": (-3.0, -1.0)}
    moves = tuple(
        OptionMove(option="P000-O-01", entry=entry, before="a", after="b", value=0.5, low=low, high=high)
        for entry, (low, high) in ends.items()
    )  # fmt: skip
    status = EntryStatus(ledger().entry("P000-O-01"), (), moves)
    assert headline(status) == "option, no claim: moves 2 of 3 findings"


def test_pages_are_written_between_their_marks(tmp_path: Path) -> None:
    for page in WRITTEN:
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / f"{page}.md").write_text(f"before\n{BEGIN}\nformer words\n{END}\nafter\n")
    write_pages(tmp_path)
    text = (tmp_path / "fidelity" / "detection.md").read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "former words" not in text
    with pytest.raises(UnsafeInputError, match="marks"):
        with_part("nothing", "fidelity/detection")


def withdrawn_in(text: str, name: str) -> list[str]:
    patterns = WITHDRAWN[""] + WITHDRAWN.get(name, ())
    return [pattern for pattern in patterns if re.search(pattern, text)]


def test_nothing_withdrawn_is_said() -> None:
    paths = [*ROOT.glob("docs/**/*.md"), *PROTOCOLS.glob("*.yaml"), ROOT / "README.md"]
    names = {path: path.relative_to(ROOT).as_posix() for path in paths}
    assert set(WITHDRAWN) - {""} <= set(names.values())
    wrong = {name: withdrawn_in(path.read_text(), name) for path, name in names.items()}
    assert not {name: patterns for name, patterns in wrong.items() if patterns}


def test_withdrawn_sentences_are_noticed() -> None:
    assert withdrawn_in("It holds, though less strongly here", "docs/a.md")
    assert withdrawn_in("a head\nthat is too simple", f"{PLACE}/leakage_tabulartoy.yaml")
    assert not withdrawn_in("a head that is too simple", f"{PLACE}/leakage_dsprites.yaml")


def test_a_linear_head_solves_the_task_of_tabulartoy() -> None:
    cases = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    product = cases.sum(axis=1) - cases[:, 0] * cases[:, 1] >= 2
    assert (product == (cases @ [1, 1, 2] > 2.5)).all()
    data = tabular_toy(task="nonlinear")
    assert (data.labels == (data.truth.astype(int) @ [1, 1, 2] > 2.5)).all()


def test_figures_keep_the_papers_digits() -> None:
    printed = ledger().entry("P003-T1-03").printed
    assert printed is not None and "Comp 99.95" in printed_figures(printed)
    table = ledger().entry("P000-T6-01").printed
    assert table is not None and "112 values" in printed_figures(table)


def test_each_reason_in_words() -> None:
    by_reason = {status.entry.reason: status for status in statuses() if not status.answers}
    assert not_at_hand(by_reason["no people"]) == "votes of PASTA"
    assert not_at_hand(by_reason["no network"]) == "seven networks of PASTA"
    assert not_at_hand(by_reason["no data"]) and not not_at_hand(by_reason["paper cites another"])
    (slow,) = (status for status in statuses() if status.entry.estimate)
    assert headline(slow).startswith("not run: CPU time (22 CPU-min")
    beside = next(status for status in statuses() if status.entry.id == "P003-T5-01")
    assert ours(beside) == "one concept 96.2"


def test_the_commands(tmp_path: Path) -> None:
    status = json.loads(theodolite("papers", "findings", "status", "--json").stdout)
    assert sum(sum(own.values()) for own in status.values()) == 300
    table = theodolite("papers", "findings", "status").stdout
    assert "after Holm's correction" in table and "makinwa2022" in table
    listed = json.loads(theodolite("papers", "findings", "list", "--paper", "makinwa2022", "--kind",
                                   "finding", "--verdict", "holds here", "--json").stdout)  # fmt: skip
    assert "P003-F0-05" in [row["entry"]["id"] for row in listed]
    assert {row["verdict"] for row in listed} == {"holds here"}
    tables = json.loads(theodolite("papers", "findings", "list", "--verdict", "printed table",
                                   "--json").stdout)  # fmt: skip
    assert {row["state"] for row in tables} == {"printed table"} and len(tables) == 21
    shown = theodolite("papers", "findings", "show", "P003-F0-06").stdout
    assert shown.count("cell ") >= 8 and "accuracy probe" in shown
    none = json.loads(
        theodolite("papers", "findings", "status", "--results", tmp_path, "--json").stdout
    )
    assert none["makinwa2022"]["holds here"] == 0
    for wrong in (
        ["run", "accepted_text_votes", "--out", tmp_path / "out"],
        ["show", "P999"],
        ["list", "--paper", "003"],
        ["list", "--verdict", "true"],
    ):
        result = theodolite("papers", "findings", *wrong)
        assert result.returncode != 0 and result.stderr.startswith("theodolite: ")


def test_an_unfinished_or_other_run_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "sweep.json").write_text("{}")
    result = theodolite("papers", "findings", "run", "alignment.sweep", "--out",
                        tmp_path / "run", "--keep", tmp_path / "keep")  # fmt: skip
    assert result.returncode != 0 and not (tmp_path / "keep").exists()
    assert DETECTION in [result.protocol for result in stored_results()]
