"""Write the summaries of all validation records into the package.

    python -m tools.validation

Full records are in `validation/`, one file per metric and version. They are attached to releases;
the wheel has a line of each. Make them with

    theodolite metrics validate --all --size release --out FOLDER --keep validation

After changes of code that should change no number, draw three conditions of each again:

    theodolite metrics validate --renew validation --out FOLDER

Before a release, name the records that are not of today's code:

    python -m tools.validation --check
"""

import json
import sys
from pathlib import Path

from theodolite.metrics.validation import FILE, summaries_text, summarize_record

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "validation"
SUMMARIES = ROOT / "src" / "theodolite" / "metrics" / FILE


def build_summaries() -> str:
    """Return the text of the file of summaries."""
    records = [json.loads(path.read_text("utf-8")) for path in sorted(RECORDS.glob("*.json"))]
    newest = {r["metric"]: r for r in sorted(records, key=lambda record: record["version"])}
    return summaries_text({name: summarize_record(record) for name, record in newest.items()})


def list_stale() -> list[str]:
    """Return a line for each record of a deciding metric that is not of today's code."""
    from theodolite._planted.validation.validation_record import find_stale_reasons  # noqa: PLC0415  not in a build
    from theodolite.metrics.catalogue import catalogue  # noqa: PLC0415

    lines = []
    for name, metric in sorted(catalogue().items()):
        path = RECORDS / f"{name}-{metric.version}.json"
        if metric.decides and (reasons := find_stale_reasons(json.loads(path.read_text("utf-8")))):
            lines.append(f"{name}: {', '.join(reasons)}")
    return lines


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit("\n".join(list_stale()) or 0)
    SUMMARIES.write_text(build_summaries(), encoding="utf-8")
