"""Build the links, QR codes and invitations by which participants reach a study."""

import csv
import io

import segno

from theodolite_study.desk.site import DeskRequest
from theodolite_study.platforms.invitations import make_invitations

INVITE_FIELD = "code"


def get_participants_origin(desk: DeskRequest) -> str:
    """Return the origin of the participants' server: https://study.example.org."""
    settings = desk.site.settings
    return settings.participants_origin or settings.public_origin


def get_study_link(desk: DeskRequest) -> str:
    """Return the address of a study's first page."""
    return f"{get_participants_origin(desk)}/s/{desk.slug}"


def get_platform_link(link: str, access: str) -> str:
    """Return the address for a platform, with the placeholders that it fills in."""
    if access != "prolific":
        return link
    names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    return f"{link}?" + "&".join(f"{name}={{{{%{name}%}}}}" for name in names)


def render_qr_svg(address: str) -> str:
    """Return a QR code as SVG that needs no style sheet."""
    code = segno.make_qr(address, error="m")
    return str(
        code.svg_inline(
            scale=4, border=2, omitsize=True, svgclass=None, lineclass=None, dark="#000",
            light="#fff", title="QR code of the study's address",
        )
    )  # fmt: skip


def make_invitations_csv(desk: DeskRequest, count: int) -> bytes:
    """Create invitations: codes only in the file, digests in the database."""
    invitations = make_invitations(count)
    with (
        desk.connection.cursor() as cursor,
        cursor.copy("copy invite (code_sha256, study_id) from stdin") as copy,
    ):
        for digest in invitations.digests:
            copy.write_row((digest, desk.study_id))
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["code", "address"])
    link = get_study_link(desk)
    writer.writerows([code, f"{link}?{INVITE_FIELD}={code}"] for code in invitations.codes)
    return file.getvalue().encode()
