"""Cards of data sets: one for each loader, complete, with a generated page."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from support.runs.command_line import theodolite
from theodolite._runs.folder.registry import find_registered
from theodolite.datasets.card import NO_FIGURES, find_card, format_page, read_card
from theodolite.errors import UnsafeInputError

GOOD: dict[str, Any] = {
    "name": "mine", "title": "Mine", "authors": "A, 2020", "url": "https://a.org", "license": "MIT",
    "redistribution": "allowed", "revision": "1", "folder": "mine", "layout": "a file.",
    "files": [{"path": "a", "bytes": 1, "digest": f"sha256:{0:064x}", "url": "https://a.org/a"}],
}  # fmt: skip


def test_every_loader_has_a_card_and_a_page() -> None:
    for name, point in find_registered("datasets").items():
        card = find_card(point)
        assert card is not None and card.name == name
        page = format_page(card, ("alignment_monumai",))
        assert page.startswith(f"# {card.title}\n") and "## Get it" in page
        assert (NO_FIGURES in page) == (card.expected is None)
        assert card.minutes is None or "CPU min" in page
        assert card.folder == "" or f"DATA/{card.folder}" in page


def test_no_card_is_left_without_a_loader() -> None:
    loaders = find_registered("datasets")
    for point in (loaders["monumai"], loaders["dsprites"]):
        package = __import__(point.value.partition(".")[0])
        cards = Path(str(package.__file__)).parent / "datasets" / "cards"
        assert {path.stem for path in cards.glob("*.yaml")} <= set(loaders)


def test_expected_figures_lie_inside_their_interval() -> None:
    card = find_card(find_registered("datasets")["monumai"])
    assert card is not None and card.expected is not None
    for figure in card.expected.figures:
        assert figure.low < figure.value < figure.high


@pytest.mark.parametrize(
    "change",
    [{"license": ""}, {"revision": ""}, {"redistribution": "instructions"}, {"more": 1},
     {"files": [GOOD["files"][0] | {"url": "http://a.org/a"}]},
     {"files": [GOOD["files"][0] | {"url": "https://me:secret@a.org/a"}]},
     {"files": [GOOD["files"][0] | {"url": "file:///etc/passwd"}]},
     {"files": [GOOD["files"][0] | {"digest": "md5:0"}]},
     {"files": [GOOD["files"][0] | {"digest": f"git-tree:{0:040x}"}]}],
)  # fmt: skip
def test_incomplete_cards_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "card.yaml"
    path.write_text(yaml.safe_dump(GOOD))
    assert read_card(path).title == "Mine"
    path.write_text(yaml.safe_dump(GOOD | change))
    with pytest.raises(UnsafeInputError):
        read_card(path)


def test_list_and_info_show_the_cards() -> None:
    listed = theodolite("data", "list").stdout
    assert all(name in listed for name in find_registered("datasets"))
    page = theodolite("data", "info", "monumai").stdout
    assert "theodolite data get monumai" in page and "CC BY 4.0" in page and "test_share" in page
    assert "alignment_monumai" in page


@pytest.mark.parametrize("name", ["cub", "ade20k", "pasta_votes"])
def test_get_prints_instructions_where_it_may_not_download(tmp_path: Path, name: str) -> None:
    result = theodolite("data", "get", name, "--to", tmp_path / "there")
    card = find_card(find_registered("datasets")[name])
    assert card is not None and result.returncode == 5
    for text in (card.url, f"DATA/{card.folder}"):
        assert text in result.stdout
    assert not (tmp_path / "there").exists()


def test_get_of_other_data() -> None:
    assert "nothing to download" in theodolite("data", "get", "dsprites").stdout
    assert theodolite("data", "get", "folder").returncode == 2
    assert theodolite("data", "get", "nothing").returncode == 2


def test_check_reads_data_sets_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "images" / "COCO_1_cat.png")
    (tmp_path / "votes.csv").write_text("item,rater,rating\na,r,1\na,s,2\nb,r,1\nb,s,1\n")
    (tmp_path / "texts.csv").write_text("text,rain\nIt rains.,1\nIt is dry.,0\n")
    for name, path in (
        ("pasta_images", "images"),
        ("vote_table", "votes.csv"),
        ("text_table", "texts.csv"),
    ):
        result = theodolite("data", "check", name, tmp_path / path)
        assert result.returncode == 0, result.stderr
    figures = theodolite("data", "check", "vote_table", tmp_path / "votes.csv", "--figures")
    assert (figures.returncode, "no expected figures" in figures.stderr) == (2, True)


def test_check_sees_a_changed_file(tmp_path: Path) -> None:
    (tmp_path / "CEBaB-v1.1.zip").write_bytes(b"no archive")
    result = theodolite("data", "check", "cebab", tmp_path)
    assert (result.returncode, "another content" in result.stderr) == (5, True)
