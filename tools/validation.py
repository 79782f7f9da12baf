"""Write the summaries of all validation records into the package.

    python -m tools.validation

Full records are in `validation/`, one file per metric and version. They are attached to releases;
the wheel has a line of each. Make them with

    theodolite metrics validate --all --size release --out FOLDER --keep validation

After changes of code that should change no number, draw three conditions of each again:

    theodolite metrics validate --renew validation --out FOLDER
"""

import json
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


if __name__ == "__main__":
    SUMMARIES.write_text(build_summaries(), encoding="utf-8")
