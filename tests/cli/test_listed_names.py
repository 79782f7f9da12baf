"""Every name that a command lists is one that the command beside it can show."""

import json

import pytest

from support.runs.command_line import theodolite
from theodolite.explainers.saliency.methods import TECHNIQUES
from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.paper_methods import METHODS
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.results import PRINTED, stored_results

LISTS = {
    "metrics list": "metrics show",
    "data list": "data info",
    "papers list": "papers show",
    "evidence": "evidence",
}
"""Commands whose first or second column are names, and the commands that take them."""


@pytest.mark.parametrize(("listing", "show"), LISTS.items())
def test_listed_names_can_be_shown(listing: str, show: str) -> None:
    lines = theodolite(*listing.split()).stdout.splitlines()[1:]
    column = 1 if listing == "metrics list" else 0
    names = [line.split()[column] for line in lines if line[:1].strip() and ": " not in line[:6]]
    assert len(names) > 5
    for name in names:
        shown = theodolite(*show.split(), name)
        assert shown.returncode == 0 and shown.stdout, f"{show} {name}: {shown.stderr}"


def test_listed_networks_methods_and_entries_can_be_shown() -> None:
    shelf = json.loads(theodolite("models", "list", "--json").stdout)
    for name in [*(card["name"] for card in shelf["trained"]), *shelf["recipes"]]:
        assert theodolite("models", "info", name).returncode == 0
    for method in json.loads(theodolite("explain", "--list", "--json").stdout):
        assert method["name"] in TECHNIQUES
    entries = [entry.id for entry in ledger().entries if entry.withdrawn is None]
    listed = theodolite("papers", "findings", "list").stdout
    for entry in entries[::20]:
        assert entry in listed
        assert theodolite("papers", "findings", "show", entry).returncode == 0


def test_protocols_that_decide_claims_can_be_shown() -> None:
    for protocol in {result.protocol for result in stored_results()} - {PRINTED}:
        assert theodolite("papers", "show", protocol).returncode == 0, protocol


def test_names_of_papers_are_looked_up() -> None:
    for method in METHODS:
        assert set(method.metrics) <= set(catalogue())
        for name in method.names:
            assert theodolite("metrics", "show", name).stdout.startswith(f"{method.names[0]} is")
        for command in method.commands:
            assert theodolite(*command.split(), "--help").returncode == 0
    for name in ("DetAcc", "SURF", "SURF EMD", "CTL", "ICL", "OIS", "NIS", "CGIM", "CEM", "CLM",
                 "IoU", "S_int", "QWK"):  # fmt: skip
        assert theodolite("metrics", "show", name).returncode == 0, name
    for paper in ("aysel2025", "parisini2025", "kumar2026", "makinwa2022", "kazmierczak2024"):
        metrics = json.loads(theodolite("metrics", "list", "--paper", paper, "--json").stdout)
        assert len(metrics) > 1
    assert theodolite("metrics", "list", "--paper", "makinva").returncode == 2
