"""Pages that prepare a study: uploaded, piloted, opened, shared."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.study.desk_browser import DeskWorld, hidden
from support.study.folder_study import study_folder
from support.study.stepped_study import template_database
from theodolite_study.designer.study_archive import write_archive
from theodolite_study.local_postgres import LocalPostgres, create_database


class Researcher:
    """Somebody at the desk who presses buttons."""

    def __init__(self, world: DeskWorld, name: str, **role: Any) -> None:
        self.world, self.browser = world, world.browser(name, **role)

    def get(self, address: str, status: int = 200) -> Any:
        page = self.browser.get(address)
        assert page.status_code == status, (page.status_code, page.text)
        return page

    def send(self, page: Any, address: str, status: int = 200, /, **fields: Any) -> Any:
        """A form of a page: its hidden fields prove it, and say which draft it is of."""
        proof = {name: hidden(page)[name] for name in ("csrf", "edited_no")}
        files = fields.pop("files", None)
        sent = {name.replace("__", " "): value for name, value in fields.items()}
        came = self.browser.post(address, data=proof | sent, files=files)
        assert came.status_code == status, (came.status_code, came.text)
        return came


@pytest.fixture(scope="module")
def world(cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskWorld]:
    create_database(cluster, "designer", template_database(cluster))
    made = DeskWorld(cluster.database("designer"), tmp_path_factory.mktemp("designer"))
    with made.visitor:
        yield made
    made.close()


@pytest.fixture(scope="module")
def ada(world: DeskWorld) -> Researcher:
    return Researcher(world, "ada")


def packed(folder: Path, slug: str, **changes: Any) -> bytes:
    """A packed study folder."""
    made = study_folder(folder / slug, slug=slug, quota=1, instances=1, **changes)
    write_archive(made, folder / f"{slug}.zip")
    return (folder / f"{slug}.zip").read_bytes()


def new_study(ada: Researcher, folder: Path, slug: str, **changes: Any) -> str:
    file = ("study.zip", packed(folder, slug, **changes), "application/zip")
    page = ada.send(ada.get("/new"), "/new", files={"file": file})
    assert page.url.path == f"/studies/{slug}/design"
    return f"/studies/{slug}/design"


def one(world: DeskWorld, query: str, *values: Any) -> Any:
    row = world.connection.execute(query, values).fetchone()
    return None if row is None else row[0]


def test_a_study_is_uploaded_piloted_and_opened(
    world: DeskWorld, ada: Researcher, tmp_path: Path
) -> None:
    base = new_study(ada, tmp_path, "whole", votes=3, minutes=None)
    refused = ada.send(ada.get(base), f"{base}/open", 409, seats="continue")
    assert "Consent" in refused.text
    assert "study.yaml: minutes" in ada.get(f"{base}/open").text
    page = ada.get(base)
    (tmp_path / "again").mkdir()
    file = ("m.zip", packed(tmp_path / "again", "whole", votes=3), "application/zip")
    page = ada.send(page, base, files={"file": file})
    (number,) = re.findall(r"/material/(\d+)", page.text)
    page = ada.get(f"{base}/material/{number}")
    for address in re.findall(r'src="(/studies[^"]+)"', page.text):
        assert ada.get(address).headers["content-type"] == "image/png"
    page = ada.get(f"{base}/pilot")
    page = ada.send(page, f"{base}/pilot", people="10")
    assert one(world, "select count(*) from place") == 10
    assert 'value="keep"' in page.text
    page = ada.send(page, f"{base}/pilot/end", then="discard")
    assert "new draft" in page.text
    page = ada.get(f"{base}/open")
    assert "no backup" in page.text and "Open version 2" not in page.text
    ada.send(ada.get(base), f"{base}/open", 409, seats="new round")
    page = ada.get(f"{base}/open?waiver=The+machine+is+a+test.")
    assert "Open version 2" in page.text
    page = ada.send(page, f"{base}/open", seats="new round", waiver="The machine is a test.")
    assert page.url.path == f"{base}/share"
    assert one(world, "select round from version where state = 'open'") == 2
    assert one(world, "select count(*) from slot where round = 2") == 3
    (tmp_path / "third").mkdir()
    file = ("m.zip", packed(tmp_path / "third", "whole", votes=4), "application/zip")
    page = ada.send(ada.get(base), base, 422, files={"file": file})
    assert "another `slug`" in page.text


def test_sharing(world: DeskWorld, ada: Researcher, tmp_path: Path) -> None:
    base = new_study(ada, tmp_path, "shared")
    page = ada.get(f"{base}/share")
    assert "/s/shared" in page.text and "<svg" in page.text and "style=" not in page.text
    table = ada.send(page, f"{base}/invitations", count="3")
    codes = [line.split(",")[0] for line in table.text.splitlines()[1:]]
    stored = one(world, "select string_agg(encode(code_sha256, 'hex'), ' ') from invite")
    assert len(codes) == 3 and len(stored.split()) == 3 and not any(c in stored for c in codes)


def test_viewers_and_others_design_nothing(
    world: DeskWorld, ada: Researcher, tmp_path: Path
) -> None:
    base = new_study(ada, tmp_path, "closed-off")
    viewer = Researcher(world, "vera", slug="closed-off", role="viewer")
    sam = Researcher(world, "sam")
    for name in ("", "/preview", "/pilot", "/open", "/share"):
        viewer.get(base + name, 403)
        sam.get(base + name, 404)
    taken = ("m.zip", (tmp_path / "closed-off.zip").read_bytes(), "application/zip")
    page = sam.send(sam.get("/new"), "/new", 422, files={"file": taken})
    assert "`slug`" in page.text
    other = new_study(sam, tmp_path, "foreign")
    ada.get(other, 404)
    page = ada.send(ada.get(base), base, 422, files={
        "file": ("m.zip", (tmp_path / "foreign.zip").read_bytes(), "application/zip")})  # fmt: skip
    assert "closed-off" in page.text, "not the study of somebody else"


def test_damaged_uploads_change_nothing(world: DeskWorld, ada: Researcher, tmp_path: Path) -> None:
    good = packed(tmp_path, "damaged")
    for content in (b"", b"no zip", good[:-30], good[: len(good) // 2]):
        file = ("m.zip", content, "application/zip")
        ada.send(ada.get("/new"), "/new", 422, files={"file": file})
    ada.send(ada.get("/new"), "/new", 422)
    assert one(world, "select count(*) from study where slug = 'damaged'") == 0
    assert not list(world.settings.folder.glob("upload-*")), "nothing is left on the disk"
