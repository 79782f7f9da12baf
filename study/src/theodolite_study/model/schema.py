"""Write the JSON Schema of instruments, for tools that do not read our Python.

Run ``python -m theodolite_study.model.schema`` to write the file again.
"""

import json
from pathlib import Path

from theodolite_study.model.instrument import Instrument

SCHEMA = Path(__file__).with_name("instrument.schema.json")
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def format_schema() -> str:
    """Return the JSON Schema. Rules across several fields are checked by our code only."""
    schema = {"$schema": DIALECT, **Instrument.model_json_schema(by_alias=True)}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(format_schema(), encoding="utf-8")
