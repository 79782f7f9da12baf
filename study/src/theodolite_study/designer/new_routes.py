"""Serve the page that creates a study or a draft: blank, or with the default questions."""

import re
from typing import Any

from psycopg.errors import UniqueViolation
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.designer.draft_saving import get_version
from theodolite_study.designer.settings_form import SettingsForm
from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, redirect, render_page, write_log
from theodolite_study.locale.default_texts import list_default_languages, load_default_texts
from theodolite_study.locale.translations import get_own_name, list_languages
from theodolite_study.model.blocks import LikertBlock, TextBlock
from theodolite_study.model.instrument import Instrument, InstrumentPage
from theodolite_study.model.pasta import NEEDS, OUTCOMES, build_pasta
from theodolite_study.refusals import Invalid, WrongStage
from theodolite_study.store.drafts import (
    StudyOutcome,
    copy_version,
    new_study,
    new_version,
    put_outcomes,
    put_texts,
)

SLUG = re.compile(r"[a-z0-9][a-z0-9-]{1,60}")
CURRENCIES = ("GBP", "EUR", "USD", "CHF", "SEK", "DKK", "NOK", "PLN", "CAD", "AUD", "JPY")
DEFAULT_PAY = {
    "finished": "reward", "ran_out": "reward", "stopped": "part", "screened_out": "fee",
    "failed_practice": "fee", "failed_checks": "part", "timed_out": "part",
}  # fmt: skip
"""Kind of pay of each outcome in a new study; the others pay nothing."""


def slug_of(title: str) -> str:
    """Turn a title into a part of an address.

    >>> slug_of("Cats & dogs: what do you see?")
    'cats-dogs-what-do-you-see'
    """
    plain = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")[:40].strip("-")
    return plain if len(plain) > 1 else "study"


@require_right("account")
def new_page(desk: DeskRequest) -> Response:
    """Show the form of a new study."""
    return _form(desk)


def _form(desk: DeskRequest, errors: tuple[str, ...] = ()) -> Response:
    spoken = {language: get_own_name(language) for language in list_languages()}
    context = {"offered": spoken, "with_texts": list_default_languages(), "currencies": CURRENCIES,
               "sent": dict(desk.form.fields) if errors else None}  # fmt: skip
    return render_page(desk, "design_new", context, 422 if errors else 200, errors)


@require_right("account")
def create(desk: DeskRequest) -> Response:
    """Create a study with a first draft, owned by the account."""
    try:
        slug = _create(desk)
    except Invalid as error:
        desk.connection.rollback()
        return _form(desk, (error.message,))
    except UniqueViolation:
        desk.connection.rollback()
        return _form(desk, ("A study on this server has this address already.",))
    return redirect(desk, f"/studies/{slug}/design", "The study is there. Nobody can see it yet.")


def _create(desk: DeskRequest) -> str:
    form = desk.form
    title, contact = form.text("title", 200), form.text("contact", 200)
    slug = form.text("slug", 61) or slug_of(title)
    spoken = list(dict.fromkeys(form.all("languages")))
    if not title or not contact:
        raise Invalid("A title and a contact are needed.")
    if SLUG.fullmatch(slug) is None:
        raise Invalid("The address has small letters, digits and strokes.")
    if not spoken or not set(spoken) <= set(list_languages()):
        raise Invalid("At least one language is needed.")
    begin = form.one_of("begin", ("pasta", "blank"))
    study = new_study(
        desk.connection, slug, title, desk.site.keys.id, form.one_of("currency", CURRENCIES)
    )
    desk.connection.execute(
        "insert into member (study_id, staff_id, role) values (%s, %s, 'owner')",
        (study, desk.staff.id),
    )
    first = SettingsForm(languages=spoken, default_language=spoken[0])
    settings = first.settings({"needs": NEEDS} if begin == "pasta" else {})
    instrument = build_pasta() if begin == "pasta" else make_blank_instrument()
    version = new_version(
        desk.connection, study, instrument=instrument.stored(), settings=settings, **first.columns()
    )
    ways = [
        StudyOutcome(key, DEFAULT_PAY.get(key, "none")) for key in OUTCOMES if key != "wrong_device"
    ]
    put_outcomes(desk.connection, version, ways)
    for language in spoken:
        texts = {"title": title, "contact": contact}
        if language in list_default_languages() and begin == "pasta":
            defaults = load_default_texts(language)
            texts = {**{k: v for k, v in defaults.items() if k != "consent"}, **texts}
        put_texts(desk.connection, version, language, texts)
    write_log(desk.connection, "draft changed", {"changes": ["The study is new."]},
              study=study, staff=desk.staff.id)  # fmt: skip
    return slug


def make_blank_instrument() -> Instrument:
    """Return the minimal instrument: a description and one rating."""
    return Instrument(
        before=[InstrumentPage(blocks=[TextBlock(name="words")])],
        after=[InstrumentPage(blocks=[LikertBlock(name="rating")])],
    )


@require_right("design")
def new_draft(desk: DeskRequest) -> Response:
    """Create a draft that copies the last version."""
    version: Any = get_version(desk)
    if version["state"] == "draft":
        raise WrongStage("There is a draft already.")
    copy_version(desk.connection, version["id"])
    desk.log("draft changed", {"changes": [f"A draft was made from version {version['no']}."]})
    return redirect(desk, f"/studies/{desk.slug}/design", "This is a new draft.")


ROUTES = [
    Route("/new", new_page),
    Route("/new", create, methods=["POST"]),
    Route("/studies/{slug}/design/draft", new_draft, methods=["POST"]),
]
