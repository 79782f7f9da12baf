"""Import a folder with study.yaml, instances.json and images into the database, as a draft
study."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb
from pydantic import ValidationError

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.ext.studies import confined, read_json, read_material, read_yaml
from theodolite_study.keys import Keys
from theodolite_study.locale.default_texts import (
    fill_gaps,
    list_default_languages,
    load_default_texts,
)
from theodolite_study.model.blocks import Block, LikertBlock, RankingBlock
from theodolite_study.model.instrument import Instrument, InstrumentPage
from theodolite_study.model.pasta import NEEDS, build_pasta
from theodolite_study.model.required_texts import iterate_text_keys
from theodolite_study.protocol import STUDY_FILE, Protocol, read_protocol, require_unchanged
from theodolite_study.store.drafts import (
    CONSENT,
    StudyOutcome,
    new_study,
    new_version,
    put_consent,
    put_outcomes,
    put_texts,
)
from theodolite_study.store.material import add_material

IMPORT_LOCK = 7203002
OWN_TEXTS = ("title", "welcome", "instructions", "thanks", "contact")
OUTCOMES = {
    "finished": ("finished", "reward"), "ran_out": ("finished", "reward"),
    "stopped": ("screened_out", "part"), "declined": ("no_consent", "none"),
    "screened_out": ("screened_out", "fee"), "failed_practice": ("screened_out", "fee"),
    "failed_checks": ("screened_out", "part"), "timed_out": (None, "part"),
    "returned": (None, "none"), "full": ("screened_out", "none"),
    "withdrawn": ("no_consent", "none"),
}  # fmt: skip
"""Each outcome: the code of study.yaml that the platform receives, and the kind of pay."""
SETTINGS = (
    "design", "panel", "same_image_gap", "same_image_most", "baseline", "training", "checks",
    "minutes", "smallest_width", "seed", "plan",
)  # fmt: skip


@dataclass(frozen=True)
class ImportedStudy:
    """Study in the database that was imported from a folder."""

    id: UUID
    version: int
    """Number of its first version."""
    state: str


def import_folder(connection: Connection[Any], folder: Path, keys: Keys) -> ImportedStudy:
    """Import a study into the database as a draft; leave one that exists unchanged.

    Args:
        connection: The caller's transaction.
        folder: With study.yaml, instances.json and images, which stay where they are.
        keys: Those that the study's people are known by.

    Raises:
        EvidenceError: If study.yaml or the explanations changed since they were put there.
        UnsafeInputError: If the study was begun with other keys.
    """
    protocol, material = read_protocol(folder), read_material(folder)
    # two servers that start at once would both put it there
    connection.execute("select pg_advisory_xact_lock(%s)", (IMPORT_LOCK,))
    known = connection.execute(
        "select s.id, v.id, s.state, s.keys_id, s.protocol from study s join version v"
        " on v.study_id = s.id and v.no = 1 where s.slug = %s", (protocol.slug,),
    ).fetchone()  # fmt: skip
    if known is not None:
        study, version, state, keys_id, written = known
        _need_same_keys(keys, keys_id)
        require_unchanged(protocol, written or {})
        add_material(connection, study, material, folder)
        return ImportedStudy(study, version, state)
    currency = protocol.payment.currency if protocol.payment else "GBP"
    study = new_study(connection, protocol.slug, protocol.title, keys.id, currency)
    written = protocol.model_dump(mode="json", exclude_unset=True)
    connection.execute("update study set protocol = %s where id = %s", (Jsonb(written), study))
    version = _first_version(connection, study, folder, protocol)
    add_material(connection, study, material, folder)
    return ImportedStudy(study, version, "draft")


def _need_same_keys(keys: Keys, keys_id: str) -> None:
    if keys.id != keys_id:
        raise UnsafeInputError(
            "keys", f"those of {keys.id}", f"those of {keys_id}",
            "The people of this study cannot be told apart with other keys.",
        )  # fmt: skip


def _first_version(
    connection: Connection[Any], study: UUID, folder: Path, protocol: Protocol
) -> int:
    instrument = load_instrument(folder, protocol)
    languages = [protocol.language, *protocol.languages]
    version = new_version(
        connection, study, instrument=instrument.stored(), settings=get_settings(protocol),
        n_votes=protocol.votes, quota=protocol.quota,
        least_items=min(protocol.least_items, protocol.quota),
        lease_seconds=protocol.patience.after, languages=languages,
        default_language=protocol.language,
    )  # fmt: skip
    codes = protocol.access.codes.model_dump()
    put_outcomes(
        connection, version,
        [StudyOutcome(key, pay, codes.get(code or "")) for key, (code, pay) in OUTCOMES.items()],
    )  # fmt: skip
    for language in languages:
        texts = load_texts(protocol, language)
        needed = set(iterate_text_keys(instrument, OUTCOMES)) - {CONSENT}
        missing = sorted(needed - texts.keys())
        if missing:
            raise EvidenceError(
                f"{STUDY_FILE}, texts.{language}", f"no {missing[0]!r}", "a text for each block"
            )
        put_texts(connection, version, language, {key: texts[key] for key in needed})
        put_consent(connection, version, language, load_consent(protocol, language))
    return version


def get_settings(protocol: Protocol) -> dict[str, Any]:
    """Return the settings that a version stores besides its columns."""
    content = protocol.model_dump(mode="json", exclude_none=True)
    settings = {name: content[name] for name in SETTINGS if name in content}
    settings["patience"] = {"before": protocol.patience.before}
    settings["access"] = {k: v for k, v in content["access"].items() if k != "codes"}
    if protocol.payment is not None:
        amounts = protocol.payment
        settings["pay"] = {
            "reward": amounts.reward, "floor": amounts.floor, "screenout": amounts.screenout,
        }  # fmt: skip
    return settings | ({} if protocol.instrument else {"needs": NEEDS})


def load_instrument(folder: Path, protocol: Protocol) -> Instrument:
    """Load the instrument from its own file, or build it from the questions of study.yaml."""
    if protocol.instrument is not None:
        path = confined(folder, protocol.instrument)
        read = read_json if path.suffix == ".json" else read_yaml
        try:
            return Instrument.model_validate(read(path, "instrument"))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "the whole"
            raise EvidenceError(
                f"{path.name}, {place}", str(first["msg"]), "an instrument"
            ) from error
    whole = build_pasta()
    after: list[Block] = [LikertBlock(name=name) for name in sorted(protocol.questions)]
    end: list[Block] = [
        RankingBlock(name=name, items=[f"i{number}" for number in range(len(ranking.items))])
        for name, ranking in sorted(protocol.rankings.items())
    ]
    return Instrument(
        about=whole.about if protocol.demographics else [], before=whole.before,
        after=[InstrumentPage(blocks=after)],
        end=[InstrumentPage(blocks=end)] if end else [],
    )  # fmt: skip


def load_texts(protocol: Protocol, language: str) -> dict[str, str]:
    """Return all texts but the consent: default texts, then settings, then `texts`.

    In the study's other languages only ours and `texts` are there; the contact is the same.
    """
    own = language == protocol.language
    texts = {}
    if own or language in list_default_languages():
        texts = load_default_texts(language if language in list_default_languages() else "en")
    texts["contact"] = protocol.contact
    if own:
        texts |= _written_texts(protocol)
    elif "title" in protocol.model_fields_set:
        texts["title"] = protocol.title
    return texts | protocol.texts.get(language, {})


def _written_texts(protocol: Protocol) -> Mapping[str, str]:
    """Return the texts that study.yaml itself contains."""
    written = protocol.model_fields_set
    texts = {name: getattr(protocol, name) for name in OWN_TEXTS if getattr(protocol, name)}
    if "before_text" in written:
        texts["words.text"] = protocol.before_text
    if "before_boxes" in written:
        texts["regions.text"] = protocol.before_boxes
    if "questions" in written:
        for name, question in protocol.questions.items():
            for part in ("text", "low", "high"):
                texts[f"{name}.{part}"] = getattr(question, part)
    if "rankings" in written:
        for name, ranking in protocol.rankings.items():
            texts[f"{name}.text"] = ranking.text
            for number, item in enumerate(ranking.items):
                texts[f"{name}.item.i{number}"] = item
    return texts


def load_consent(protocol: Protocol, language: str) -> str:
    """Return the consent form as Markdown: study.yaml's own, or ours with its gaps filled in."""
    written = protocol.texts.get(language, {}).get(CONSENT)
    if written is None and language == protocol.language:
        written = protocol.consent
    if written is not None:
        return written
    ours = load_default_texts(language if language in list_default_languages() else "en")[CONSENT]
    # a date that every language reads in the same way
    until = protocol.until or f"{datetime.now(timezone.utc).year + 1}-12-31"
    return fill_gaps(ours, {"contact": protocol.contact, "pay": protocol.pay, "until": until})
