"""Serve the texts of a study in all languages, their PO and CSV files, and the consent."""

from typing import Any

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.designer import text_files
from theodolite_study.designer.consent_check import find_consent_topics
from theodolite_study.designer.design_pages import get_design_address, render_design_page
from theodolite_study.designer.draft_saving import get_version, save_draft
from theodolite_study.designer.version_changes import VersionContent
from theodolite_study.designer.version_content import CONSENT, get_text_keys, load_content
from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest
from theodolite_study.locale.default_texts import list_default_languages, load_default_texts
from theodolite_study.locale.translations import get_own_name
from theodolite_study.model.markdown import render_consent
from theodolite_study.refusals import Invalid, NotHere
from theodolite_study.store.drafts import put_consent, put_texts


@require_right("design")
def texts_page(desk: DeskRequest) -> Response:
    """Show a row per key and a column per language, missing ones first."""
    return _texts_page(desk)


def _texts_page(desk: DeskRequest, error: str = "") -> Response:
    version = get_version(desk)
    content = load_content(desk.connection, version)
    rows = text_files.get_text_rows(get_text_keys(content), version["languages"], content.texts)
    show = desk.request.query_params.get("show", "all")
    missing = sum(len(row.missing) for row in rows)
    visible = [row for row in rows if row.missing] if show == "missing" else rows
    context = {"rows": visible, "missing": missing, "of": len(rows) * len(version["languages"]),
               "show": show, "own_name": get_own_name}  # fmt: skip
    return render_design_page(desk, "design_texts", context, [error] if error else [])


@require_right("design")
def save_texts(desk: DeskRequest) -> Response:
    """Save the fields of the table, which are named by language and key."""

    def edit(content: VersionContent) -> str:
        texts = _sent_texts(desk, content)
        return _put(desk, content, texts)

    def theirs(content: VersionContent) -> dict[str, str]:
        return {f"{language} {key}": body for (key, language), body in content.texts.items()}

    show = desk.form.text("show") or "all"
    back = f"{get_design_address(desk)}/texts?show={'missing' if show == 'missing' else 'all'}"
    return save_draft(desk, back, edit, lambda error: _texts_page(desk, error), theirs)


def _sent_texts(desk: DeskRequest, content: VersionContent) -> dict[tuple[str, str], str]:
    known = set(get_text_keys(content))
    texts = {}
    for name in desk.form.fields:
        language, _, key = name.partition(" ")
        if key and (key not in known or language not in content.settings["languages"]):
            raise Invalid(f"This version does not have the text {key} in {language}.")
        if key:
            texts[key, language] = desk.form.text(name)
    return texts


def _put(desk: DeskRequest, content: VersionContent, texts: text_files.Texts) -> str:
    changed = {pair: body for pair, body in texts.items() if content.texts.get(pair, "") != body}
    for (key, language), body in changed.items():
        put_texts(desk.connection, get_version(desk)["id"], language, {key: body})
    return f"{len(changed)} texts were changed."


@require_right("design", upload=text_files.MAX_BYTES)
def take_texts(desk: DeskRequest) -> Response:
    """Import an uploaded file of texts."""
    file = desk.form.files.get("file")
    name = (file.filename or "") if file else ""
    content_ = file.file.read(text_files.MAX_BYTES + 1) if file else b""

    def edit(content: VersionContent) -> str:
        keys, spoken = get_text_keys(content), content.settings["languages"]
        if name.lower().endswith(".po"):
            language = desk.form.one_of("language", spoken)
            texts = text_files.parse_po(content_, language, keys)
        elif name.lower().endswith(".csv"):
            texts = text_files.parse_csv(content_, spoken, keys)
        else:
            raise Invalid("A file that ends in .po or .csv is needed.")
        return _put(desk, content, texts)

    return save_draft(
        desk, f"{get_design_address(desk)}/texts", edit, lambda error: _texts_page(desk, error)
    )


@require_right("design")
def copy_texts(desk: DeskRequest) -> Response:
    """Copy missing texts of one language from another, when its button was pressed."""

    def edit(content: VersionContent) -> str:
        spoken = content.settings["languages"]
        source, to = desk.form.one_of("source", spoken), desk.form.one_of("to", spoken)
        return _put(
            desk,
            content,
            text_files.copy_missing_texts(content.texts, get_text_keys(content), source, to),
        )

    return save_draft(desk, f"{get_design_address(desk)}/texts", edit)


@require_right("design")
def texts_file(desk: DeskRequest) -> Response:
    """Return all texts as CSV, or those of one language as PO."""
    version = get_version(desk)
    content = load_content(desk.connection, version)
    name = str(desk.request.path_params["file"])
    language, _, kind = name.rpartition(".")
    keys = get_text_keys(content)
    if name == "texts.csv":
        body, media = text_files.format_csv(keys, version["languages"], content.texts), "text/csv"
    elif kind == "po" and language in version["languages"]:
        source = version["default_language"]
        body, media = text_files.format_po(keys, source, language, content.texts), "text/x-gettext"
    else:
        raise NotHere
    return download(body, f"{desk.slug}-{version['no']}-{name}", media)


def download(body: bytes, name: str, media: str) -> Response:
    """Return a file that the browser saves."""
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(body, headers=headers, media_type=media)


@require_right("design")
def consent_page(desk: DeskRequest) -> Response:
    """Show the consent in one language, its preview, and the topics that it mentions."""
    return _consent_page(desk)


def _consent_page(desk: DeskRequest, error: str = "") -> Response:
    version = get_version(desk)
    content = load_content(desk.connection, version)
    language = desk.request.query_params.get("language", version["default_language"])
    if language not in version["languages"]:
        raise NotHere
    stored = content.texts.get((CONSENT, language), "")
    suggested = "" if stored else _suggested(content, language)
    text = desk.form.text("consent") if error else stored or suggested
    again = desk.row("select bool_or(reconsent) as again from consent_text where version_id = %s",
                     version["id"])  # fmt: skip
    context: dict[str, Any] = {
        "language": language, "text": text, "suggested": suggested,
        "shown": Markup(render_consent(stored).decode()) if stored else "",  # noqa: S704  as stored
        "topics": find_consent_topics(text, language), "again": bool(again and again["again"]),
        "there": {spoken for (key, spoken) in content.texts if key == CONSENT},
        "own_name": get_own_name,
    }  # fmt: skip
    return render_design_page(desk, "design_consent", context, [error] if error else [])


def _suggested(content: VersionContent, language: str) -> str:
    """Return the default consent with the known contact."""
    if language not in list_default_languages():
        return ""
    contact = content.texts.get(("contact", language), "{contact}")
    return load_default_texts(language)[CONSENT].replace("{contact}", contact)


@require_right("design")
def save_consent(desk: DeskRequest) -> Response:
    """Save the consent in one language, and whether people are asked again in all of them."""
    version = get_version(desk)
    language = desk.form.one_of("language", version["languages"])
    again = desk.form.ticked("again")

    def edit(content: VersionContent) -> str:
        put_consent(desk.connection, version["id"], language, desk.form.text("consent"),
                    reconsent=again)  # fmt: skip
        desk.connection.execute(
            "update consent_text set reconsent = %s where version_id = %s", (again, version["id"])
        )
        return f"The consent in {language} was saved."

    def theirs(content: VersionContent) -> dict[str, str]:
        return {"consent": content.texts.get((CONSENT, language), ""), "language": language}

    back = f"{get_design_address(desk)}/consent?language={language}"
    return save_draft(desk, back, edit, lambda error: _consent_page(desk, error), theirs)


ROUTES = [
    Route("/studies/{slug}/design/texts", texts_page),
    Route("/studies/{slug}/design/texts", save_texts, methods=["POST"]),
    Route("/studies/{slug}/design/texts/upload", take_texts, methods=["POST"]),
    Route("/studies/{slug}/design/texts/copy", copy_texts, methods=["POST"]),
    Route("/studies/{slug}/design/texts/{file}", texts_file),
    Route("/studies/{slug}/design/consent", consent_page),
    Route("/studies/{slug}/design/consent", save_consent, methods=["POST"]),
]
