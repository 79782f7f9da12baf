"""Serve the exports of a study: request, list and download. The background job writes them."""

import json
import zipfile  # noqa: TID251  written here, not read
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, redirect, render_page
from theodolite_study.refusals import Invalid, NotHere

MANIFEST = "manifest.json"
AGGREGATES = ("aggregates.csv", "aggregates.parquet", "agreement.json")
"""Files that contain nothing about single participants."""
CHUNK_BYTES = 1 << 18
MAX_LISTED_EXPORTS = 50
REQUESTS = """
    select e.id, e.requested_at, e.ended_at, e.state, e.why, a.name as staff,
           encode(e.manifest_sha256, 'hex') as digest
      from export_request e left join staff a on a.id = e.staff_id
     where e.study_id = %s order by e.id desc limit %s"""


@require_right("aggregates")
def exports(desk: DeskRequest) -> Response:
    """List the exports of the study; some roles see aggregates only."""
    records = desk.rows(REQUESTS, desk.study_id, MAX_LISTED_EXPORTS)
    entries = [
        (export, _files(desk, export) if export["state"] == "done" else []) for export in records
    ]
    alive = desk.row(
        "select at, at > clock_timestamp() - interval '5 minutes' as alive from operation"
        " where what = 'jobs'"
    )
    return render_page(desk, "export", {"entries": entries, "job": alive})


@require_right("export")
def request_export(desk: DeskRequest) -> Response:
    """Request an export, unless one is waiting already."""
    waiting = desk.row(
        "select id from export_request where study_id = %s and state in ('waiting', 'running')",
        desk.study_id,
    )
    if waiting is not None:
        raise Invalid("An export of this study is on its way already.")
    desk.connection.execute(
        "insert into export_request (study_id, staff_id) values (%s, %s)",
        (desk.study_id, desk.staff.id),
    )
    desk.log("exported", {"what": "requested"})
    return redirect(desk, f"/studies/{desk.slug}/export", "The job writes it in its next round.")


@require_right("aggregates")
def download(desk: DeskRequest) -> Response:
    """Return one file of an export."""
    export, name = _done(desk), str(desk.request.path_params["file"])
    known = {file["name"] for file in _files(desk, export)}
    if name not in known:
        raise NotHere
    desk.log("exported", {"what": "downloaded", "export": export["id"], "file": name})
    return FileResponse(
        _folder(desk, export) / name, filename=f"{desk.slug}-{export['id']}-{name}",
        media_type="application/octet-stream",
    )  # fmt: skip


@require_right("export")
def download_all(desk: DeskRequest) -> Response:
    """Return all files in one archive, which is made while it is sent."""
    export = _done(desk)
    folder = _folder(desk, export)
    names = [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if _is_regular_file(path)
    ]
    desk.log("exported", {"what": "downloaded", "export": export["id"], "file": "all"})
    name = f"{desk.slug}-{export['id']}"
    headers = {"content-disposition": f'attachment; filename="{name}.zip"'}
    pieces = stream_archive(folder, names, name)
    return StreamingResponse(pieces, media_type="application/zip", headers=headers)


def stream_archive(folder: Path, names: list[str], inside: str) -> Iterator[bytes]:
    """Yield a zip of files in parts, so that little is in memory."""
    out = _ChunkStream()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as packed:
        for name in names:
            with (
                (folder / name).open("rb") as source,
                packed.open(f"{inside}/{name}", "w") as target,
            ):
                while piece := source.read(CHUNK_BYTES):
                    target.write(piece)
                    yield out.taken()
    yield out.taken()


class _ChunkStream(BytesIO):
    """Stream without seeking whose content is taken while it grows."""

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError

    def taken(self) -> bytes:
        """Return what was written since the last call."""
        piece = self.getvalue()
        super().seek(0)
        self.truncate()
        return piece


def _done(desk: DeskRequest) -> dict[str, Any]:
    record = desk.row(
        "select id, state from export_request where id = %s and study_id = %s and state = 'done'",
        desk.request.path_params["export"], desk.study_id,
    )  # fmt: skip
    if record is None:
        raise NotHere
    return record


def _folder(desk: DeskRequest, export: dict[str, Any]) -> Path:
    return desk.site.settings.folder / "exports" / f"{desk.slug}-{export['id']}"


def _files(desk: DeskRequest, export: dict[str, Any]) -> list[dict[str, Any]]:
    """List the files of an export that this role may download, with digests of the manifest."""
    folder = _folder(desk, export)
    if not folder.is_dir():
        return []
    digests = _read_digests(folder / MANIFEST)
    return [
        {"name": path.name, "bytes": path.stat().st_size, "sha256": digests.get(path.name, "")}
        for path in sorted(folder.iterdir())
        if _is_regular_file(path) and (desk.may("export") or path.name in AGGREGATES)
    ]


def _is_regular_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _read_digests(manifest: Path) -> dict[str, str]:
    try:
        content = json.loads(manifest.read_text(encoding="utf-8"))
        digests = content.get("files", {})
        return {name: value if isinstance(value, str) else str(value.get("sha256", ""))
                for name, value in digests.items()}  # fmt: skip
    except (OSError, ValueError, AttributeError):
        return {}


ROUTES = [
    Route("/studies/{slug}/export", exports),
    Route("/studies/{slug}/export", request_export, methods=["POST"]),
    Route("/studies/{slug}/export/{export:int}/all.zip", download_all),
    Route("/studies/{slug}/export/{export:int}/{file}", download),
]
