"""The signed thing: an in-toto statement that names files by digest, and what was found."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite._storage.text import json_from
from theodolite.errors import UnsafeInputError, VerificationError, printable

if TYPE_CHECKING:
    from theodolite.report.dossier.content import DossierFile

STATEMENT, DOSSIER = "statement.json", "dossier.json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
EXTENSION = "urn:theodolite:dossier:1"
"""The property of the predicate that holds what its type has no field for."""
TESTS = {"yes": "passedTests", "partly": "warnedTests", "inconclusive": "warnedTests"}
CONFIGURATION = ("run.json", "thresholds.yaml")


def statement_bytes(dossier: "DossierFile", files: Mapping[str, bytes]) -> bytes:
    """The statement about these files: sorted keys, no spaces, the same bytes every time.

    ``run.json`` (with the spec) and the thresholds are the configuration, all others are subjects.
    """
    subjects = [_resource(n, files[n]) for n in sorted(files) if n not in CONFIGURATION]
    tests: dict[str, list[str]] = {"passedTests": [], "warnedTests": [], "failedTests": []}
    for answer in dossier.answers:
        tests[TESTS.get(answer.answer, "failedTests")].append(answer.question)
    facts = dossier.facts
    content = {
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "result": dossier.result,
            "configuration": [_resource(n, files[n]) for n in CONFIGURATION if n in files],
            **tests,
            EXTENSION: {
                "claim": facts.explanation.claim,
                "system": facts.system.model_dump(),
                "responsible": [person.model_dump() for person in facts.responsible],
                "date": facts.date,
                "notAsked": [answer.question for answer in dossier.not_evaluated],
            },
        },
    }
    return canonical(content)


def is_dossier(folder: Path) -> bool:
    """Return whether a folder is a dossier, not a run: it has a statement, or what one is about."""
    return any((folder / name).exists() for name in (STATEMENT, DOSSIER))


def canonical(content: Any) -> bytes:
    """JSON with sorted keys and no spaces, in UTF-8.

    >>> canonical({"b": 1, "a": "ü"}).decode()
    '{"a":"ü","b":1}'
    """
    text = json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def read_digests(statement: bytes) -> dict[str, str]:
    """SHA-256 of every file that a statement names, by name."""
    what, needed = f"file {STATEMENT!r}", "a statement of theodolite"
    digests: dict[str, str] = {}
    try:
        content = json_from(statement, STATEMENT)
        if (content["_type"], content["predicateType"]) != (STATEMENT_TYPE, PREDICATE_TYPE):
            raise VerificationError(what, "another type of statement", needed)
        for resource in (*content["subject"], *content["predicate"]["configuration"]):
            name, digest = resource["name"], resource["digest"]["sha256"]
            texts = isinstance(name, str) and isinstance(digest, str)
            if not texts or digests.setdefault(name, digest) != digest:
                raise VerificationError(what, f"no single digest of {name}", needed)
    except (KeyError, TypeError, UnsafeInputError) as error:
        raise VerificationError(what, printable(error), needed) from error
    return digests


def _resource(name: str, content: bytes) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": hashlib.sha256(content).hexdigest()}}
