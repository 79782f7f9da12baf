"""Texts in all languages beside each other, as PO and CSV files out and in; the consent."""

from typing import Any

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.designer import text_files
from theodolite_study.designer.changes import VersionContent
from theodolite_study.designer.consent_check import consent_topics
from theodolite_study.designer.links import base, design_page
from theodolite_study.designer.saving import save, version_of
from theodolite_study.designer.version_content import CONSENT, content_of, keys_of
from theodolite_study.desk.rights import needs
from theodolite_study.desk.site import DeskRequest
from theodolite_study.locale.catalogue import own_name
from theodolite_study.locale.default_texts import default_languages, default_texts
from theodolite_study.model.markdown import consent_bytes
from theodolite_study.refusals import Invalid, NotHere
from theodolite_study.store.drafts import put_consent, put_texts


@needs("design")
def texts_page(desk: DeskRequest) -> Response:
    """A row a key, a column a language; missing ones first."""
    return _texts_page(desk)


def _texts_page(desk: DeskRequest, error: str = "") -> Response:
    version = version_of(desk)
    content = content_of(desk.connection, version)
    rows = text_files.text_rows(keys_of(content), version["languages"], content.texts)
    show = desk.request.query_params.get("show", "all")
    missing = sum(len(row.missing) for row in rows)
    visible = [row for row in rows if row.missing] if show == "missing" else rows
    context = {"rows": visible, "missing": missing, "of": len(rows) * len(version["languages"]),
               "show": show, "own_name": own_name}  # fmt: skip
    return design_page(desk, "design_texts", context, [error] if error else [])


@needs("design")
def save_texts(desk: DeskRequest) -> Response:
    """All fields of the table that came; their names are language and key."""

    def edit(content: VersionContent) -> str:
        texts = _sent_texts(desk, content)
        return _put(desk, content, texts)

    def theirs(content: VersionContent) -> dict[str, str]:
        return {f"{language} {key}": body for (key, language), body in content.texts.items()}

    show = desk.form.text("show") or "all"
    back = f"{base(desk)}/texts?show={'missing' if show == 'missing' else 'all'}"
    return save(desk, back, edit, lambda error: _texts_page(desk, error), theirs)


def _sent_texts(desk: DeskRequest, content: VersionContent) -> dict[tuple[str, str], str]:
    known = set(keys_of(content))
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
        put_texts(desk.connection, version_of(desk)["id"], language, {key: body})
    return f"{len(changed)} texts were changed."


@needs("design", upload=text_files.MOST_BYTES)
def take_texts(desk: DeskRequest) -> Response:
    """A file of texts."""
    file = desk.form.files.get("file")
    name = (file.filename or "") if file else ""
    content_ = file.file.read(text_files.MOST_BYTES + 1) if file else b""

    def edit(content: VersionContent) -> str:
        keys, spoken = keys_of(content), content.settings["languages"]
        if name.lower().endswith(".po"):
            language = desk.form.one_of("language", spoken)
            texts = text_files.texts_from_po(content_, language, keys)
        elif name.lower().endswith(".csv"):
            texts = text_files.texts_from_csv(content_, spoken, keys)
        else:
            raise Invalid("A file that ends in .po or .csv is needed.")
        return _put(desk, content, texts)

    return save(desk, f"{base(desk)}/texts", edit, lambda error: _texts_page(desk, error))


@needs("design")
def copy_texts(desk: DeskRequest) -> Response:
    """Missing texts of one language get the words of another; somebody pressed the button."""

    def edit(content: VersionContent) -> str:
        spoken = content.settings["languages"]
        source, to = desk.form.one_of("source", spoken), desk.form.one_of("to", spoken)
        return _put(desk, content, text_files.copied(content.texts, keys_of(content), source, to))

    return save(desk, f"{base(desk)}/texts", edit)


@needs("design")
def texts_file(desk: DeskRequest) -> Response:
    """All texts as CSV, or those of one language as PO."""
    version = version_of(desk)
    content = content_of(desk.connection, version)
    name = str(desk.request.path_params["file"])
    language, _, kind = name.rpartition(".")
    keys = keys_of(content)
    if name == "texts.csv":
        body, media = text_files.csv_of(keys, version["languages"], content.texts), "text/csv"
    elif kind == "po" and language in version["languages"]:
        source = version["default_language"]
        body, media = text_files.po_of(keys, source, language, content.texts), "text/x-gettext"
    else:
        raise NotHere
    return download(body, f"{desk.slug}-{version['no']}-{name}", media)


def download(body: bytes, name: str, media: str) -> Response:
    """A file that a browser saves."""
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(body, headers=headers, media_type=media)


@needs("design")
def consent_page(desk: DeskRequest) -> Response:
    """The consent in one language, its preview, and the topics that it speaks of."""
    return _consent_page(desk)


def _consent_page(desk: DeskRequest, error: str = "") -> Response:
    version = version_of(desk)
    content = content_of(desk.connection, version)
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
        "shown": Markup(consent_bytes(stored).decode()) if stored else "",  # noqa: S704  as stored
        "topics": consent_topics(text, language), "again": bool(again and again["again"]),
        "there": {spoken for (key, spoken) in content.texts if key == CONSENT},
        "own_name": own_name,
    }  # fmt: skip
    return design_page(desk, "design_consent", context, [error] if error else [])


def _suggested(content: VersionContent, language: str) -> str:
    """The text that comes with the package, with the contact that is known."""
    if language not in default_languages():
        return ""
    contact = content.texts.get(("contact", language), "{contact}")
    return default_texts(language)[CONSENT].replace("{contact}", contact)


@needs("design")
def save_consent(desk: DeskRequest) -> Response:
    """The text in one language, and for all of them whether people are asked again."""
    version = version_of(desk)
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

    back = f"{base(desk)}/consent?language={language}"
    return save(desk, back, edit, lambda error: _consent_page(desk, error), theirs)


ROUTES = [
    Route("/studies/{slug}/design/texts", texts_page),
    Route("/studies/{slug}/design/texts", save_texts, methods=["POST"]),
    Route("/studies/{slug}/design/texts/upload", take_texts, methods=["POST"]),
    Route("/studies/{slug}/design/texts/copy", copy_texts, methods=["POST"]),
    Route("/studies/{slug}/design/texts/{file}", texts_file),
    Route("/studies/{slug}/design/consent", consent_page),
    Route("/studies/{slug}/design/consent", save_consent, methods=["POST"]),
]
