"""Serve the upload of study folders, and the explanations of a study."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, cast

from starlette.responses import FileResponse, Response
from starlette.routing import Route

from theodolite.errors import EvidenceError
from theodolite.ext.studies import IMAGES, image_path
from theodolite_study.designer.design_pages import get_design_address, render_design_page
from theodolite_study.designer.study_archive import LIMITS, CheckedArchive, unpack_study
from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, redirect, render_page, write_log
from theodolite_study.folder_import import import_folder
from theodolite_study.protocol import read_protocol
from theodolite_study.refusals import Invalid, NotHere
from theodolite_study.serve.images import get_media_type

PAGE_SIZE = 50
TWINS = ("same", "different")
TAKEN = "A study on this server has this `slug` already."


@require_right("account")
def new_page(desk: DeskRequest) -> Response:
    """Show the form that uploads a new study."""
    return _new_page(desk)


def _new_page(desk: DeskRequest, error: str = "") -> Response:
    context = {"limits": LIMITS}
    return render_page(desk, "design_new", context, 422 if error else 200, [error] if error else [])


@require_right("account", upload=LIMITS.upload)
def create(desk: DeskRequest) -> Response:
    """Store an uploaded study as a draft, owned by the account."""
    try:
        with _unpacked(desk) as checked:
            slug = read_protocol(checked.folder).slug
            if desk.row("select from study where slug = %s", slug) is not None:
                raise Invalid(TAKEN)
            study = _import(desk, checked)
            desk.connection.execute(
                "insert into member (study_id, staff_id, role) values (%s, %s, 'owner')",
                (study, desk.staff.id),
            )
            write_log(desk.connection, "draft changed", {"changes": ["The study is new."]},
                      study=study, staff=desk.staff.id)  # fmt: skip
    except (Invalid, EvidenceError) as error:
        desk.connection.rollback()
        return _new_page(desk, str(error))
    return redirect(desk, f"/studies/{slug}/design", "The study is there. Nobody can see it yet.")


@require_right("design", upload=LIMITS.upload)
def replace(desk: DeskRequest) -> Response:
    """Replace a draft by a changed study folder; explanations can be added later too."""
    try:
        with _unpacked(desk) as checked:
            if read_protocol(checked.folder).slug != desk.slug:
                raise Invalid(f"`slug`: expected “{desk.slug}”, as this study has it.")
            _import(desk, checked)
    except (Invalid, EvidenceError) as error:
        desk.connection.rollback()
        return _material_page(desk, str(error))
    desk.log("draft changed", {"changes": ["The study folder was uploaded again."]})
    return redirect(desk, get_design_address(desk), "The study folder was uploaded.")


@contextmanager
def _unpacked(desk: DeskRequest) -> Iterator[CheckedArchive]:
    """Yield the uploaded study folder after all of it was checked; then delete it."""
    file = desk.form.files.get("file")
    if file is None or not file.filename:
        raise Invalid("No file was chosen.")
    scratch = Path(mkdtemp(prefix="upload-", dir=desk.site.settings.folder))
    desk.connection.commit()  # checking may take longer than a transaction may wait
    try:
        yield unpack_study(cast(Any, file.file), scratch / "unpacked")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _import(desk: DeskRequest, checked: CheckedArchive) -> Any:
    store = desk.site.settings.folder
    return import_folder(desk.connection, checked.folder, desk.site.keys, store).id


@require_right("design")
def material_page(desk: DeskRequest) -> Response:
    """List the explanations, a page at a time."""
    return _material_page(desk)


def _material_page(desk: DeskRequest, error: str = "") -> Response:
    after = desk.request.query_params.get("after", "")
    number = int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0
    listed = desk.rows(
        "select id, key, image_key, technique, modality, kind, shown -> 'shown' as part from"
        " instance where study_id = %s and id > %s order by id limit %s",
        desk.study_id, number, PAGE_SIZE,
    )  # fmt: skip
    kinds = desk.rows(
        "select kind, technique, count(*) as n, count(distinct image_key) as images"
        " from instance where study_id = %s group by 1, 2 order by 1 desc, 2", desk.study_id,
    )  # fmt: skip
    context = {"listed": listed, "kinds": kinds, "limits": LIMITS,
               "more": listed[-1]["id"] if len(listed) == PAGE_SIZE else None}  # fmt: skip
    return render_design_page(desk, "design_material", context, [error] if error else [])


@require_right("design")
def instance_page(desk: DeskRequest) -> Response:
    """Show one explanation with all its parts."""
    number = int(desk.request.path_params["number"])
    row = desk.row(
        "select id, key, image_key, technique, kind, shown, record -> 'check' as check"
        " from instance where study_id = %s and id = %s", desk.study_id, number,
    )  # fmt: skip
    if row is None:
        raise NotHere
    explanation = row["shown"]
    parts = [(name, explanation[name]) for name in ("shown", *TWINS) if explanation.get(name)]
    context = {"one": row, "parts_": parts, "sizes": explanation.get("sizes", {})}
    return render_design_page(desk, "design_instance", context)


@require_right("design")
def image(desk: DeskRequest) -> Response:
    """Return an image of this study's material, never of another study."""
    file = str(desk.request.path_params["file"])
    row = desk.row(
        "select from instance where study_id = %s and shown -> 'sizes' ? %s limit 1",
        desk.study_id, file,
    )  # fmt: skip
    path = image_path(desk.site.settings.folder, file) if row is not None else None
    if path is None or not path.is_file():
        raise NotHere
    headers = {"cache-control": "private, max-age=3600, immutable"}
    return FileResponse(path, headers=headers, media_type=get_media_type(file))


ROUTES = [
    Route("/new", new_page),
    Route("/new", create, methods=["POST"]),
    Route("/studies/{slug}/design", material_page),
    Route("/studies/{slug}/design", replace, methods=["POST"]),
    Route("/studies/{slug}/design/material/{number:int}", instance_page),
    Route(f"/studies/{{slug}}/design/{IMAGES}/{{file}}", image),
]
