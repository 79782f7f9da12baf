"""Import a folder with study.yaml, instances.json and images into the database, as a draft
study."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb
from pydantic import ValidationError

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.ext.studies import Material, confined, read_json, read_material, read_yaml
from theodolite_study.keys import Keys
from theodolite_study.locale.default_texts import (
    QUESTIONS,
    RANKED_QUESTIONS,
    choose_cases,
    fill_gaps,
    list_default_languages,
    load_default_texts,
    name_ranked_questions,
)
from theodolite_study.model.blocks import Block, LikertBlock, RankingBlock
from theodolite_study.model.consent_facts import (
    find_cases,
    find_missing_facts,
    get_languages,
    word_facts,
)
from theodolite_study.model.instrument import Instrument, InstrumentPage
from theodolite_study.model.pasta import NEEDS, build_pasta
from theodolite_study.model.required_texts import iterate_text_keys
from theodolite_study.protocol import (
    STUDY_FILE,
    Payment,
    Protocol,
    is_unchanged,
    read_protocol,
    require_unchanged,
)
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
OWN_TEXTS = ("title", "welcome", "consent", "instructions", "thanks", "debriefing")
DEBRIEFING = "debriefing"
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
    "minutes", "smallest_width", "seed", "plan", "screening",
)  # fmt: skip


@dataclass(frozen=True)
class ImportedStudy:
    """Study in the database that was imported from a folder."""

    id: UUID
    version: int
    """Number of its first version."""
    state: str


def import_folder(
    connection: Connection[Any], folder: Path, keys: Keys, store: Path | None = None
) -> ImportedStudy:
    """Import a study into the database as a draft; leave one that exists unchanged.

    Args:
        connection: The caller's transaction.
        folder: With study.yaml, instances.json and images, which stay where they are.
        keys: Those that the study's people are known by.
        store: Folder of the server, where images are copied to; None: they stay where they are.

    Raises:
        EvidenceError: If study.yaml or the explanations changed since they were put there.
        UnsafeInputError: If the study was begun with other keys.
    """
    protocol, material = read_protocol(folder), read_material(folder)
    # two servers that start at once would both put it there
    connection.execute("select pg_advisory_xact_lock(%s)", (IMPORT_LOCK,))
    known = connection.execute(
        "select s.id, v.id, s.state, s.keys_id, s.protocol, v.state from study s join version v"
        " on v.study_id = s.id and v.no = 1 where s.slug = %s", (protocol.slug,),
    ).fetchone()  # fmt: skip
    written = protocol.model_dump(mode="json", exclude_unset=True)
    if known is None:
        currency = protocol.pay.currency if isinstance(protocol.pay, Payment) else "GBP"
        study = new_study(connection, protocol.slug, protocol.title, keys.id, currency)
        version, state = _new_version(connection, study, folder, protocol), "draft"
        _write_texts(connection, version, folder, protocol, material)
    else:
        study, version, state, keys_id, before, of_version = known
        _need_same_keys(keys, keys_id)
        if of_version != "draft":
            require_unchanged(protocol, before or {})
        elif before is not None and not is_unchanged(protocol, before):
            _replace_draft(connection, study, version, folder, protocol)
            _write_texts(connection, version, folder, protocol, material)
    connection.execute("update study set protocol = %s where id = %s", (Jsonb(written), study))
    add_material(connection, study, material, folder, store)
    return ImportedStudy(study, version, state)


def _need_same_keys(keys: Keys, keys_id: str) -> None:
    if keys.id != keys_id:
        raise UnsafeInputError(
            "keys", f"those of {keys.id}", f"those of {keys_id}",
            "The people of this study cannot be told apart with other keys.",
        )  # fmt: skip


def _get_columns(folder: Path, protocol: Protocol) -> dict[str, Any]:
    return {
        "instrument": load_instrument(folder, protocol).stored(),
        "settings": get_settings(protocol), "n_votes": protocol.votes, "quota": protocol.quota,
        "least_items": min(protocol.least_items, protocol.quota),
        "lease_seconds": protocol.patience.after, "languages": list(get_languages(protocol)),
        "default_language": protocol.language,
    }  # fmt: skip


def _new_version(connection: Connection[Any], study: UUID, folder: Path, protocol: Protocol) -> int:
    return new_version(connection, study, **_get_columns(folder, protocol))


def _replace_draft(
    connection: Connection[Any], study: UUID, version: int, folder: Path, protocol: Protocol
) -> None:
    """Write a changed study.yaml over a version that nobody has seen yet."""
    columns = _get_columns(folder, protocol)
    stored = {name: Jsonb(v) if isinstance(v, dict) else v for name, v in columns.items()}
    connection.execute(
        "update version set instrument = %(instrument)s, settings = %(settings)s,"
        " n_votes = %(n_votes)s, quota = %(quota)s, least_items = %(least_items)s,"
        " lease_seconds = %(lease_seconds)s, languages = %(languages)s,"
        " default_language = %(default_language)s, edited_no = edited_no + 1"
        " where id = %(version)s",
        stored | {"version": version},
    )
    for table in ("wording", "consent_text"):
        query = f"delete from {table} where version_id = %s"  # noqa: S608  names of ours
        connection.execute(query, (version,))
    if isinstance(protocol.pay, Payment):
        connection.execute(
            "update study set currency = %s where id = %s", (protocol.pay.currency, study)
        )


def _write_texts(
    connection: Connection[Any], version: int, folder: Path, protocol: Protocol, material: Material
) -> None:
    """Write outcomes, texts and consent forms of a draft."""
    codes = protocol.access.codes.model_dump()
    put_outcomes(
        connection, version,
        [StudyOutcome(key, pay, codes.get(code or "")) for key, (code, pay) in OUTCOMES.items()],
    )  # fmt: skip
    needed = set(iterate_text_keys(load_instrument(folder, protocol), OUTCOMES))
    for language in get_languages(protocol):
        texts = load_texts(protocol, language, material)
        missing = sorted(needed - texts.keys())
        if missing:
            raise EvidenceError(
                f"{STUDY_FILE}, texts.{language}", f"no {missing[0]!r}", "a text for each block"
            )
        consent = texts.pop(CONSENT)
        names = (needed | {DEBRIEFING}) & texts.keys()
        put_texts(connection, version, language, {key: texts[key] for key in names})
        put_consent(connection, version, language, consent)


def get_settings(protocol: Protocol) -> dict[str, Any]:
    """Return the settings that a version stores besides its columns."""
    content = protocol.model_dump(mode="json", exclude_none=True)
    settings = {name: content[name] for name in SETTINGS if name in content}
    settings["patience"] = {"before": protocol.patience.before}
    settings["access"] = {k: v for k, v in content["access"].items() if k != "codes"}
    settings["paid"] = isinstance(protocol.pay, Payment)
    if isinstance(protocol.pay, Payment):
        settings["pay"] = protocol.pay.model_dump(exclude={"currency", "hourly"})
        settings["hourly"] = protocol.pay.hourly
    missing = find_missing_facts(protocol)
    if missing:
        settings["unfilled"] = missing
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
    end = list(_iterate_rankings(protocol))
    return Instrument(
        about=whole.about if protocol.demographics else [], before=whole.before,
        after=[InstrumentPage(blocks=after)],
        end=[InstrumentPage(blocks=end)] if end else [],
    )  # fmt: skip


def _iterate_rankings(protocol: Protocol) -> Iterator[Block]:
    """Yield the rankings; those of questions have the questions that are numbers."""
    ours = "rankings" not in protocol.model_fields_set
    for name, ranking in sorted(protocol.rankings.items()):
        numbers = [
            number for number in range(len(ranking.items))
            if not (ours and name in RANKED_QUESTIONS) or QUESTIONS[number] in protocol.questions
        ]  # fmt: skip
        if len(numbers) > 1:
            yield RankingBlock(name=name, items=[f"i{number}" for number in numbers])


def load_texts(protocol: Protocol, language: str, material: Material) -> dict[str, str]:
    """Return all texts: default texts, then settings, then `texts`; gaps and cases are filled in.

    In the study's other languages only ours and `texts` are there; the contact is the same.
    """
    own = language == protocol.language
    texts = {}
    if own or language in list_default_languages():
        texts = load_default_texts(language if language in list_default_languages() else "en")
    written = dict(_written_texts(protocol)) if own else {}
    if not own and "title" in protocol.model_fields_set:
        written["title"] = protocol.title
    written |= protocol.texts.get(language, {})
    texts = name_ranked_questions(texts | written) | written if texts else written
    texts["contact"] = written.get("contact", protocol.contact)
    methods = sorted({instance.technique for instance in material.of("real")})
    values = word_facts(protocol, language, texts)
    values |= {"methods": ", ".join(methods), "contact": texts["contact"]}
    cases = find_cases(protocol, checks=bool(material.of("gold")))
    return {
        key: body if key in written or key == "contact"
        else fill_gaps(choose_cases(body, cases), values)
        for key, body in texts.items()
    }  # fmt: skip


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
