"""The published JSON Schema of instruments: a file, for tools that do not read our Python.

``python -m theodolite_study.model.schema`` writes it anew.
"""

import json
from pathlib import Path

from theodolite_study.model.instrument import Instrument

SCHEMA = Path(__file__).with_name("instrument.schema.json")
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def instrument_schema() -> str:
    """As it is in the file. Rules that look at several parts at once are checked by us alone."""
    schema = {"$schema": DIALECT, **Instrument.model_json_schema(by_alias=True)}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(instrument_schema(), encoding="utf-8")
