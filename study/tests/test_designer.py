"""Pages that make a study: from nothing to open, two people at once, files in and out."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.study.desk_browser import DeskWorld, hidden
from support.study.stepped_study import template_database
from test_designer_archive import small_material
from theodolite_study.designer.material_archive import write_archive
from theodolite_study.local_postgres import LocalPostgres, create_database

CONSENT = """
Taking part is voluntary. You can withdraw by your code. You are paid 4 pounds.
We keep your answers. Questions: write to a@example.org.
"""
GERMAN = """
Die Teilnahme ist freiwillig. Sie können zurücktreten und werden bezahlt.
Wir speichern Ihre Antworten. Fragen: schreiben Sie an a@example.org.
"""


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


def new_study(ada: Researcher, slug: str, begin: str = "pasta", **more: Any) -> str:
    fields = {"title": "What do you see?", "slug": slug, "contact": "a@example.org",
              "currency": "GBP", "languages": ["en", "de"], "begin": begin}  # fmt: skip
    page = ada.send(ada.get("/new"), "/new", **(fields | more))
    assert page.url.path == f"/studies/{slug}/design"
    return f"/studies/{slug}/design"


def one(world: DeskWorld, query: str, *values: Any) -> Any:
    row = world.connection.execute(query, values).fetchone()
    return None if row is None else row[0]


def all_settings(page: Any, **changed: Any) -> dict[str, Any]:
    """The fields of the page of settings as a browser would send them."""
    fields = dict(re.findall(r'<input id="(\w+)" name="\w+"[^>]* value="([^"]*)"', page.text))
    fields |= dict(re.findall(r'<textarea id="(\w+)"[^>]*>([^<]*)<', page.text))
    for name, options in re.findall(r'<select id="(\w+)"[^>]*>(.*?)</select>', page.text, re.S):
        fields[name] = re.search(r'value="(\w+)" selected', options)[1]  # type: ignore[index]
    return fields | {k: str(v) for k, v in changed.items()}


def material(folder: Path) -> bytes:
    folder.mkdir()
    small_material(folder)
    write_archive(folder, folder.with_suffix(".zip"))
    return folder.with_suffix(".zip").read_bytes()


def test_a_study_is_made_piloted_and_opened(
    world: DeskWorld, ada: Researcher, tmp_path: Path
) -> None:
    base = new_study(ada, "whole")
    refused = ada.send(ada.get(base), f"{base}/open", 409, seats="continue")
    assert "Consent" in refused.text and "Material" in refused.text
    page = ada.get(f"{base}/open")
    links = re.findall(r'href="(/studies/[^"]+)">Go there', page.text)
    assert f"{base}/material" in links and f"{base}/consent?language=en" in links
    for link in links:
        assert ada.browser.get(link.split("#")[0].replace("&amp;", "&")).status_code == 200
    for language, text in (("en", CONSENT), ("de", GERMAN)):
        place = f"{base}/consent?language={language}"
        ada.send(ada.get(place), place, language=language, consent=text)
    file = ("m.zip", material(tmp_path / "m"), "application/zip")
    page = ada.send(ada.get(f"{base}/material"), f"{base}/material", files={"file": file})
    assert "1 explanations are new" in page.text
    (number,) = re.findall(r"/material/(\d+)", page.text)
    page = ada.get(f"{base}/material/{number}")
    for address in re.findall(r'src="(/studies[^"]+)"', page.text):
        assert ada.get(address).headers["content-type"] == "image/png"
    page = ada.get(f"{base}/settings")
    fields = all_settings(page, votes=3, quota=1, reward="4", minutes=20, sample_note="As before.")
    ada.send(page, f"{base}/settings", **fields)
    assert (
        one(world, "select settings -> 'pay' ->> 'reward' from version order by id desc") == "400"
    )
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
    ada.send(ada.get(base), base, 409, do="delete", block="q1")
    ada.send(ada.get(base), f"{base}/draft")
    page = ada.get(base)
    assert "0 changes since version 2" in page.text
    page = ada.send(page, base, do="delete", block="q6")
    assert "Block “q6” was taken out of “after”." in page.text


def test_blocks_are_edited_by_buttons_and_forms(world: DeskWorld, ada: Researcher) -> None:
    base = new_study(ada, "blocks")
    page = ada.send(ada.get(base), base, do="add", stage="end", kind="choice")
    page = ada.send(page, base, do="up", block="choice")
    page = ada.send(page, base, do="page", block="choice")
    page = ada.send(page, base, do="shuffle", stage="about", page="0")
    asked = one(world, "select instrument from version order by id desc limit 1")
    assert [[b["name"] for b in p["blocks"]] for p in asked["end"]] == [
        ["q7", "q8"],
        ["choice", "q9"],
    ]
    assert asked["about"][0]["shuffle"] is True
    place = f"{base}/block/choice"
    fields = {"name": "pick", "options": "red\ngreen", "least": "1", "order": "random",
              "language": "en", "text_text": "Which?", "text_option.red": "Red",
              "rule_how": "all", "rule_block_0": "q7", "rule_op_0": "answered"}  # fmt: skip
    page = ada.send(ada.get(place), place, 422, **(fields | {"options": "red"}))
    assert "options" in page.text and ">red</textarea>" in page.text, "what was sent is not lost"
    page = ada.send(page, place, **fields)
    assert page.url.path == f"{base}/block/pick"
    assert "Which?" in page.text and "<span>Red</span>" in page.text.replace("\n", "")
    stored = one(
        world, "select instrument -> 'end' -> 1 -> 'blocks' -> 0 from version order by id desc"
    )
    assert stored["show_if"] == {"block": "q7", "op": "answered"} and stored["required"] is False
    said = one(
        world, "select detail ->> 'changes' from log where kind = 22 order by id desc limit 1"
    )
    assert "Block “pick” (choice) is new" in said
    for kind in (
        "likert",
        "text",
        "comment",
        "number",
        "slider",
        "comparison",
        "ranking",
        "regions",
        "note",
    ):
        page = ada.send(ada.get(base), base, do="add", stage="about", kind=kind)
        assert "As participants see it" in ada.get(f"{base}/block/{kind}").text
    ada.get(f"{base}/block/nothing", 404)
    ada.send(ada.get(base), base, 422, do="explode")


def test_two_people_do_not_overwrite_each_other(world: DeskWorld, ada: Researcher) -> None:
    base = new_study(ada, "both")
    bob = Researcher(world, "bob", slug="both", role="researcher")
    place = f"{base}/block/q1"
    first, second = ada.get(place), bob.get(place)
    fields = {"name": "q1", "points": "5", "labels": "ends", "required": "yes", "language": "en"}
    ada.send(first, place, text_text="Ada's words", **fields)
    page = bob.send(second, place, 409, text_text="Bob's words", **(fields | {"points": "7"}))
    for words in ("Ada&#39;s words", "Bob&#39;s words", "points", "by ada"):
        assert words in page.text
    assert one(world, "select body from wording where key = 'q1.text' and language = 'en'"
               " order by version_id desc limit 1") == "Ada's words"  # fmt: skip
    bob.send(page, place, text_text="Bob's words", **(fields | {"points": "7"}))
    texts = bob.get(f"{base}/texts")
    assert "Bob&#39;s words" in texts.text


def test_texts_in_and_out(world: DeskWorld, ada: Researcher) -> None:
    base = new_study(ada, "words")
    page = ada.get(f"{base}/texts?show=missing")
    missing = re.findall(r'name="(\w\w outcome\.\w+)"', page.text)
    assert {"en outcome.full", "de outcome.full"} <= set(missing) or "All" in page.text
    page = ada.send(
        ada.get(f"{base}/texts"), f"{base}/texts", **{"de q1.text": "Neu?", "en q1.text": ""}
    )
    assert "missing in en" in page.text
    po = ada.get(f"{base}/texts/en.po")
    assert b'msgctxt "q1.text"' in po.content
    table = ada.get(f"{base}/texts/texts.csv").content
    changed = table.replace(b"q1.text,,Neu?", b"q1.text,New?,Neu!")
    upload = f"{base}/texts/upload"
    page = ada.send(
        ada.get(f"{base}/texts"), upload, files={"file": ("t.csv", changed)}, language="en"
    )
    assert "New?" in page.text and "Neu!" in page.text
    page = ada.send(ada.get(f"{base}/texts"), upload, 422, language="en",
                    files={"file": ("t.csv", changed.replace(b"q1.text", b"q77.text"))})  # fmt: skip
    assert "q77.text" in page.text
    ada.send(page, upload, 422, language="en", files={"file": ("t.exe", b"x")})
    page = ada.send(ada.get(f"{base}/texts"), f"{base}/texts", **{"de q2.text": ""})
    page = ada.send(page, f"{base}/texts/copy", source="en", to="de")
    assert one(world, "select count(distinct body) from wording where key = 'q2.text' and version_id ="
               " (select max(version_id) from wording)") == 1  # fmt: skip
    ada.send(page, f"{base}/texts", 422, **{"en nothing": "x"})
    ada.get(f"{base}/texts/fr.po", 404)


def test_settings_ways_out_and_conditions(world: DeskWorld, ada: Researcher) -> None:
    base = new_study(ada, "sets", languages=["en"])
    page = ada.get(f"{base}/settings")
    page = ada.send(page, f"{base}/settings", 422, **all_settings(page, votes=51))
    assert 'value="51"' in page.text
    fields = all_settings(
        page, votes=5, access="prolific", signed="yes", audience="abc", languages="en\nde"
    )
    ada.send(page, f"{base}/settings", **fields)
    row = one(world, "select settings from version order by id desc limit 1")
    assert row["access"] == {"kind": "prolific", "signed": True, "audience": "abc"}
    assert row["needs"], "what the page does not ask for stays"
    assert "Prolific needs codes for" in ada.get(f"{base}/open").text
    ways = {f"on_{key}": "yes" for key in ("finished", "ran_out", "declined")}
    codes = {f"code_{key}": "C1" for key in ("finished", "ran_out", "declined")}
    page = ada.get(f"{base}/outcomes")
    bad = ways | codes | {"redirect_finished": "http://x"}
    page = ada.send(page, f"{base}/outcomes", 422, **bad)
    ada.send(page, f"{base}/outcomes", **(ways | codes | {"pay_finished": "reward"}))
    assert "All codes are entered" in ada.get(f"{base}/open").text
    page = ada.get(f"{base}/conditions")
    two = {"condition_0": "short", "condition_1": "long", "weight_1": "2",
           "overrides_1": '{"blocks": {"q1": {"points": 7}}}'}  # fmt: skip
    for bad in ({"overrides_1": "{"}, {"overrides_1": '{"votes": {}}'}, {"condition_1": ""},
                {"condition_1": "short"}, {"weight_1": "0"},
                {"overrides_1": '{"blocks": {"q99": {}}}'}):  # fmt: skip
        ada.send(page, f"{base}/conditions", 422, **(two | bad))
    page = ada.send(page, f"{base}/conditions", **two)
    assert "The conditions were saved" in page.text
    page = ada.send(page, f"{base}/conditions", condition_0="")
    assert one(world, "select count(*) from condition") == 0


def test_sharing(world: DeskWorld, ada: Researcher) -> None:
    base = new_study(ada, "shared")
    page = ada.get(f"{base}/share")
    assert "/s/shared" in page.text and "<svg" in page.text and "style=" not in page.text
    table = ada.send(page, f"{base}/invitations", count="3")
    codes = [line.split(",")[0] for line in table.text.splitlines()[1:]]
    stored = one(world, "select string_agg(encode(code_sha256, 'hex'), ' ') from invite")
    assert len(codes) == 3 and len(stored.split()) == 3 and not any(c in stored for c in codes)


@pytest.mark.parametrize("fields", [
    {"title": ""}, {"slug": "A b"}, {"languages": []}, {"begin": "x"}, {"slug": "taken"},
    {"languages": ["xx"]}, {"currency": "XXX"},
])  # fmt: skip
def test_new_studies_that_do_not_fit_are_refused(ada: Researcher, fields: dict[str, Any]) -> None:
    if fields == {"slug": "taken"}:
        new_study(ada, "taken", "blank")
    sent = {"title": "T", "slug": "other", "contact": "c", "currency": "GBP", "languages": "en",
            "begin": "blank"} | fields  # fmt: skip
    page = ada.send(ada.get("/new"), "/new", 422, **sent)
    assert "Please look again" in page.text


def test_viewers_and_strangers_design_nothing(world: DeskWorld, ada: Researcher) -> None:
    base = new_study(ada, "closed-off", "blank")
    viewer = Researcher(world, "vera", slug="closed-off", role="viewer")
    stranger = Researcher(world, "sam")
    for name in ("", "/texts", "/material", "/consent", "/settings", "/outcomes", "/conditions",
                 "/preview", "/pilot", "/open", "/share", "/texts/en.po", "/block/words"):  # fmt: skip
        viewer.get(base + name, 403)
        stranger.get(base + name, 404)
    other = Researcher(world, "olga")
    foreign = new_study(other, "foreign", "blank")
    ada.get(foreign, 404)


def test_damaged_material_changes_nothing(
    world: DeskWorld, ada: Researcher, tmp_path: Path
) -> None:
    base = new_study(ada, "damaged")
    good = material(tmp_path / "m")
    for content in (b"", b"no zip", good[:-30], good[: len(good) // 2]):
        file = ("m.zip", io.BytesIO(content), "application/zip")
        ada.send(ada.get(f"{base}/material"), f"{base}/material", 422, files={"file": file})
    assert one(world, "select count(*) from instance i join study s on s.id = i.study_id"
               " where slug = 'damaged'") == 0  # fmt: skip
    assert not list(world.settings.folder.glob("material-*")), "nothing is left on the disk"
