"""Data folders and data sets that are links; links that leave a data set."""

import shutil
from pathlib import Path

import pytest

from support.runs.command_line import theodolite
from theodolite._runs.folder.registry import build_registered
from theodolite._runs.folder.spec import Named
from theodolite._storage.paths import find_in_data
from theodolite.datasets.shapes import write_shapes
from theodolite.errors import UnsafeInputError


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A data set elsewhere, a data folder with a link to it, and a link to the data folder."""
    (tmp_path / "disk").mkdir()
    write_shapes(tmp_path / "disk" / "mine", 6)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine").symlink_to(tmp_path / "disk" / "mine")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    return tmp_path


def read(data: Path) -> int:
    dataset = build_registered(
        "datasets", Named.model_validate({"name": "folder", "root": "mine"}), data
    )
    return sum(dataset.image(row).size[0] > 0 for row in range(len(dataset)))


def test_linked_data_sets_are_read(places: Path) -> None:
    assert read(places / "disk") == read(places / "data") == read(places / "link") == 6
    for folder in ("disk/mine", "data/mine", "link/mine"):
        assert "6 at hand" in theodolite("data", "check", "folder", places / folder).stdout
    (places / "images").symlink_to(places / "disk" / "mine")
    assert "6 at hand" in theodolite("data", "check", "folder", places / "images").stdout


def test_links_below_a_data_set_may_not_leave_it(places: Path) -> None:
    image = next((places / "disk" / "mine" / "images").iterdir())
    shutil.move(image, places / "secret.png")
    image.symlink_to(places / "secret.png")
    with pytest.raises(UnsafeInputError, match="a link that leaves"):
        read(places / "data")
    assert find_in_data(places / "data", "mine/images") == places / "disk" / "mine" / "images"
    (places / "disk" / "mine" / "out").symlink_to("/etc")
    for path in ("mine/out", "mine/../x", "/etc", "..", "", "mine/out/passwd"):
        with pytest.raises(UnsafeInputError):
            find_in_data(places / "data", path)
