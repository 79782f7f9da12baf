"""Write studies and draft versions: instrument, settings, texts, conditions, outcomes.

Each function works within the caller's transaction. The database refuses to change a version that
was opened.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from psycopg import Connection
from psycopg.types.json import Jsonb

from theodolite_study.model.instrument import Instrument
from theodolite_study.model.markdown import render_consent
from theodolite_study.refusals import Invalid, NotHere

CONSENT = "consent"
"""Text key of the consent's Markdown; participants see its rendered bytes."""
PARTS = {
    "wording": "key, language, body",
    "consent_text": "language, shown, digest, reconsent",
    "condition": "key, weight, overrides",
    "outcome": "key, code, redirect, pay",
}
"""Tables of a version besides its own row, with the columns that are copied."""
OVERRIDES = {"texts", "blocks", "instances"}


@dataclass(frozen=True)
class StudyCondition:
    """Experimental condition with its weight, and what it changes."""

    key: str
    weight: int = 1
    overrides: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyOutcome:
    """Outcome of a participation: platform code, address to return to, and kind of pay."""

    key: str
    pay: str = "none"
    code: str | None = None
    redirect: str | None = None


def new_study(
    connection: Connection[Any], slug: str, title: str, keys_id: str, currency: str = "GBP"
) -> UUID:
    """Create an empty study that nobody can see yet."""
    number = uuid4()
    connection.execute(
        "insert into study (id, slug, title, keys_id, currency) values (%s, %s, %s, %s, %s)",
        (number, slug, title, keys_id, currency),
    )
    return number


def new_version(  # noqa: PLR0913  each is a column
    connection: Connection[Any], study: UUID, *, instrument: Mapping[str, Any],
    settings: Mapping[str, Any], n_votes: int, quota: int, least_items: int,
    lease_seconds: float, languages: Sequence[str], default_language: str,
) -> int:  # fmt: skip
    """Create a draft with the next number.

    Raises:
        pydantic.ValidationError: If the instrument cannot be asked.
    """
    Instrument.model_validate(instrument)
    connection.execute("select from study where id = %s for update", (study,))
    row = connection.execute(
        "insert into version (study_id, no, instrument, settings, n_votes, quota, least_items,"
        " lease_seconds, languages, default_language)"
        " select %s, 1 + coalesce(max(no), 0), %s, %s, %s, %s, %s, %s, %s, %s from version"
        " where study_id = %s returning id",
        (study, Jsonb(instrument), Jsonb(settings), n_votes, quota, least_items, lease_seconds,
         list(languages), default_language, study),
    ).fetchone()  # fmt: skip
    return _number(row)


def copy_version(connection: Connection[Any], version: int) -> int:
    """Create a draft that copies everything of an earlier version."""
    study = connection.execute("select study_id from version where id = %s", (version,)).fetchone()
    if study is None:
        raise NotHere("There is no such version.")
    connection.execute("select from study where id = %s for update", study)
    columns = (
        "study_id, instrument, settings, n_votes, quota, least_items, lease_seconds, languages,"
        " default_language"
    )
    row = connection.execute(
        f"insert into version (no, {columns}) select (select max(no) + 1 from version o"  # noqa: S608  names of ours
        f" where o.study_id = v.study_id), {columns} from version v where id = %s returning id",
        (version,),
    ).fetchone()
    copy = _number(row)
    for table, own in PARTS.items():
        connection.execute(
            f"insert into {table} (version_id, {own}) select %s, {own} from {table}"  # noqa: S608  names of ours
            " where version_id = %s",
            (copy, version),
        )
    return copy


def put_texts(
    connection: Connection[Any], version: int, language: str, texts: Mapping[str, str]
) -> None:
    """Store texts by key; blank ones are deleted. The consent has its own function."""
    if CONSENT in texts:
        raise Invalid("The consent is more than a text: see put_consent.")
    for key, body in texts.items():
        _put_text(connection, version, language, key, body)


def put_consent(
    connection: Connection[Any], version: int, language: str, markdown: str, *,
    reconsent: bool = False,
) -> None:  # fmt: skip
    """Store the consent in one language: its Markdown, and the bytes that the page will contain.

    Args:
        connection: The caller's transaction.
        version: A draft.
        language: Of the text.
        markdown: The form.
        reconsent: Whether people of earlier versions are asked again.

    Raises:
        ValueError: If a gap is not filled in, or nothing is said.
    """
    consent = render_consent(markdown)
    _put_text(connection, version, language, CONSENT, markdown)
    connection.execute(
        "insert into consent_text (version_id, language, shown, digest, reconsent)"
        " values (%(v)s, %(l)s, %(s)s, sha256(%(s)s), %(r)s)"
        " on conflict (version_id, language) do update"
        " set shown = excluded.shown, digest = excluded.digest, reconsent = excluded.reconsent",
        {"v": version, "l": language, "s": consent, "r": reconsent},
    )


def put_conditions(
    connection: Connection[Any], version: int, conditions: Sequence[StudyCondition]
) -> None:
    """Replace the conditions of a version."""
    connection.execute(
        "delete from condition where version_id = %s and key <> all(%s)",
        (version, [condition.key for condition in conditions]),
    )
    for condition in conditions:
        strange = condition.overrides.keys() - OVERRIDES
        if strange:
            raise Invalid(f"A condition cannot change {min(strange)!r}.")
        connection.execute(
            "insert into condition (version_id, key, weight, overrides) values (%s, %s, %s, %s)"
            " on conflict (version_id, key) do update set weight = excluded.weight,"
            " overrides = excluded.overrides",  # previews may name the row
            (version, condition.key, condition.weight, Jsonb(condition.overrides)),
        )


def put_outcomes(
    connection: Connection[Any], version: int, outcomes: Sequence[StudyOutcome]
) -> None:
    """Replace the outcomes of a version."""
    connection.execute("delete from outcome where version_id = %s", (version,))
    for outcome in outcomes:
        connection.execute(
            "insert into outcome (version_id, key, code, redirect, pay)"
            " values (%s, %s, %s, %s, %s)",
            (version, outcome.key, outcome.code, outcome.redirect, outcome.pay),
        )


def _put_text(
    connection: Connection[Any], version: int, language: str, key: str, body: str
) -> None:
    if not body.strip():
        connection.execute(
            "delete from wording where (version_id, key, language) = (%s, %s, %s)",
            (version, key, language),
        )
        return
    connection.execute(
        "insert into wording (version_id, key, language, body) values (%s, %s, %s, %s)"
        " on conflict (version_id, key, language) do update set body = excluded.body",
        (version, key, language, body),
    )


def _number(row: tuple[Any, ...] | None) -> int:
    if row is None:
        raise NotHere("There is no such study.")
    return int(row[0])
