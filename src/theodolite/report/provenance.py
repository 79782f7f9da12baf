"""Describe the origin of a report, and how to check it."""

import json
from typing import Any

from markupsafe import Markup

from theodolite._runs.folder.run_records import ProducedRecord, RunRecord
from theodolite.report.head import fact_text

CODE = Markup("<code>{}</code>")

COMMANDS = (
    ("theodolite verify .", "no file of this folder changed since its checksums were written"),
    ("theodolite verify . --recompute all", "recomputed scores are equal"),
    ("theodolite report .", "build this page again from the folder"),
)
"""To be given in the folder that a report lies in, with what each shows."""


def provenance(record: RunRecord, made_record: ProducedRecord) -> dict[str, Any]:
    """Run, software, seeds and inputs, with the commands to check and to repeat them."""
    return {
        "facts": [(f"{n[:1].upper()}{n[1:]}", value) for n, value in _facts(record, made_record)],
        "commands": [(CODE.format(command), shows) for command, shows in COMMANDS],
        "spec": json.dumps(
            record.spec.model_dump(mode="json", exclude_defaults=True), indent=1, ensure_ascii=False
        ),
        "inputs": [
            (name, CODE.format(digest))
            for name, digest in sorted((made_record.inputs | record.inputs).items())
        ],
    }


def _facts(record: RunRecord, made_record: ProducedRecord) -> list[tuple[str, str]]:
    spec, resampling = record.spec, record.spec.resampling
    packages = ", ".join(f"{name} {version}" for name, version in record.packages.items())
    code = [("Code", record.code)] if record.code else []
    where = [("Evidence", ", ".join(made_record.stored))] if made_record.stored else []
    done_by = [("Computed by", record.engine)] if record.engine and made_record.stored else []
    return [
        *((name, fact_text(name, value)) for name, value in made_record.facts),
        ("Run", spec.name),
        ("Started", record.started),
        ("Command", record.command or "from Python"),
        ("Seeds", ", ".join(map(str, spec.seeds))),
        (
            "Intervals",
            f"{100 * resampling.level:g} %, {resampling.resamples} resamples, "
            f"seed {resampling.seed}",
        ),
        ("Software", f"Python {record.python}, {packages}"),
        *code,
        ("Machine", record.machine),
        *where,
        *done_by,
        ("Scoring took", f"{made_record.seconds_scoring} s"),
    ]
