"""Serve the material of a study: upload an archive, list and inspect explanations."""

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, cast

from starlette.responses import FileResponse, Response
from starlette.routing import Route

from theodolite.errors import EvidenceError
from theodolite.ext.studies import IMAGES, image_path
from theodolite_study.designer.design_pages import get_design_address, render_design_page
from theodolite_study.designer.material_archive import LIMITS, unpack_material
from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, redirect
from theodolite_study.refusals import Invalid, NotHere
from theodolite_study.serve.images import get_media_type
from theodolite_study.store.material import add_material

PAGE_SIZE = 50
TWINS = ("same", "different")


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
    seated = desk.row("select from slot where study_id = %s limit 1", desk.study_id) is not None
    context = {"listed": listed, "kinds": kinds, "seated": seated, "limits": LIMITS,
               "more": listed[-1]["id"] if len(listed) == PAGE_SIZE else None}  # fmt: skip
    return render_design_page(desk, "design_material", context, [error] if error else [])


@require_right("design", upload=LIMITS.upload)
def take_material(desk: DeskRequest) -> Response:
    """Store an uploaded archive after all of it was checked."""
    file = desk.form.files.get("file")
    if file is None or not file.filename:
        return _material_page(desk, "No file was chosen.")
    store = desk.site.settings.folder
    scratch = Path(mkdtemp(prefix="material-", dir=store))
    desk.connection.commit()  # checking may take longer than a transaction may wait
    try:
        checked = unpack_material(cast(Any, file.file), scratch / "unpacked")
        new = add_material(desk.connection, desk.study_id, checked.material, checked.folder, store)
    except (Invalid, EvidenceError) as error:
        desk.connection.rollback()
        return _material_page(desk, str(error))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    total = len(checked.material.instances)
    message = f"{new} explanations are new, of {total} with {len(checked.sizes)} images."
    desk.log("draft changed", {"changes": [f"Material: {message}"]})
    return redirect(desk, f"{get_design_address(desk)}/material", message)


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
    Route("/studies/{slug}/design/material", material_page),
    Route("/studies/{slug}/design/material", take_material, methods=["POST"]),
    Route("/studies/{slug}/design/material/{number:int}", instance_page),
    Route(f"/studies/{{slug}}/design/{IMAGES}/{{file}}", image),
]
