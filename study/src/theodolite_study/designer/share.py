"""How people get to a study: its address, a QR code, invitations."""

import csv
import io
import os

import segno

from theodolite_study.desk.site import DeskRequest
from theodolite_study.platforms.invites import new_invitations

PARTICIPANTS = "THEODOLITE_PARTICIPANTS_ORIGIN"
"""The address of the participants' server; without it, that of the desk."""
INVITE_FIELD = "code"


def participants_origin(desk: DeskRequest) -> str:
    """Where participants come in: https://study.example.org."""
    return os.environ.get(PARTICIPANTS) or desk.site.settings.public_origin


def study_link(desk: DeskRequest) -> str:
    """The address of a study's first page."""
    return f"{participants_origin(desk)}/s/{desk.slug}"


def platform_link(link: str, access: str) -> str:
    """The address as a platform is given it, with the gaps that it fills in itself."""
    if access != "prolific":
        return link
    names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    return f"{link}?" + "&".join(f"{name}={{{{%{name}%}}}}" for name in names)


def qr_svg(address: str) -> str:
    """A QR code as SVG that needs no style: it is part of the page."""
    code = segno.make_qr(address, error="m")
    return str(
        code.svg_inline(
            scale=4, border=2, omitsize=True, svgclass=None, lineclass=None, dark="#000",
            light="#fff", title="QR code of the study's address",
        )
    )  # fmt: skip


def invitations_csv(desk: DeskRequest, count: int) -> bytes:
    """New invitations: codes in the file alone, digests in the database."""
    invitations = new_invitations(count)
    with (
        desk.connection.cursor() as cursor,
        cursor.copy("copy invite (code_sha256, study_id) from stdin") as copy,
    ):
        for digest in invitations.digests:
            copy.write_row((digest, desk.study_id))
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["code", "address"])
    link = study_link(desk)
    writer.writerows([code, f"{link}?{INVITE_FIELD}={code}"] for code in invitations.codes)
    return file.getvalue().encode()
