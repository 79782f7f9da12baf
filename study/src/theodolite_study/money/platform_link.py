"""Link studies to a platform, and find submissions by digest. Used by payments and webhooks."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg

from theodolite_study.keys import Keys

Connection = psycopg.Connection[Any]


def digest_submission(keys: Keys, submission: str) -> bytes:
    """Return the digest that identifies a submission in all studies of these keys."""
    return keys.digest_person("", "submission", submission)


@dataclass(frozen=True)
class PlatformLink:
    """Study, its id at the platform, and the credentials."""

    study: UUID
    slug: str
    external_id: str
    token: str = field(repr=False)
    secret: str = field(repr=False)
    partial_codes: bool = False
    """Whether the platform pays percentages of the reward for this workspace."""


def link_study(connection: Connection, keys: Keys, link: PlatformLink) -> None:
    """Link a study to the platform; token and secret are stored encrypted."""
    connection.execute(
        "insert into platform_link"
        " (study_id, external_id, sealed_token, sealed_secret, partial_codes)"
        " values (%s, %s, %s, %s, %s) on conflict (study_id) do update set"
        " external_id = excluded.external_id, sealed_token = excluded.sealed_token,"
        " sealed_secret = excluded.sealed_secret, partial_codes = excluded.partial_codes",
        (link.study, link.external_id, keys.encrypt(link.token, _get_purpose(link.slug, "token")),
         keys.encrypt(link.secret, _get_purpose(link.slug, "secret")) if link.secret else None,
         link.partial_codes),
    )  # fmt: skip


def load_linked_studies(connection: Connection, keys: Keys) -> list[PlatformLink]:
    """Return all studies that are linked to a platform and belong to these keys."""
    rows = connection.execute(
        "select s.id, s.slug, l.external_id, l.sealed_token, l.sealed_secret, l.partial_codes"
        " from platform_link l join study s on s.id = l.study_id where s.keys_id = %s"
        " order by s.slug",
        (keys.id,),
    ).fetchall()  # fmt: skip
    return [
        PlatformLink(
            study,
            slug,
            external,
            token=keys.decrypt(token, _get_purpose(slug, "token")),
            secret="" if secret is None else keys.decrypt(secret, _get_purpose(slug, "secret")),
            partial_codes=partial,
        )
        for study, slug, external, token, secret, partial in rows
    ]


def decrypt_webhook_secret(keys: Keys, slug: str, sealed: bytes) -> str:
    """Decrypt the secret of a study's webhooks."""
    return keys.decrypt(sealed, _get_purpose(slug, "secret"))


def _get_purpose(slug: str, what: str) -> str:
    """Return the purpose of an encryption, so that a token is never opened as a person's id."""
    return f"{slug}/platform/{what}"
