"""A certificate as a file: what was tried, what held, and in which version."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from theodolite.certification.characteristics import Characteristics
from theodolite.io.text import write_json
from theodolite.metrics.catalogue import find_metric


def certificate(
    name: str, cells: Sequence[Characteristics], size: str, seed: int
) -> dict[str, Any]:
    """As plain JSON; what is undefined is null."""
    metric = find_metric(name)
    return {
        "format": "theodolite-certificate",
        "format_version": 1,
        "metric": name,
        "version": metric.version,
        "theodolite": version("theodolite"),
        "size": size,
        "seed": seed,
        "cells": [_plain_numbers(asdict(cell)) for cell in cells],
        "failed": sum(bool(cell.failures) for cell in cells),
    }


def _plain_numbers(record: dict[str, Any]) -> dict[str, Any]:
    undefined = [k for k, v in record.items() if isinstance(v, float) and math.isnan(v)]
    return record | dict.fromkeys(undefined)


def write_certificate(path: Path, content: dict[str, Any]) -> None:
    """Into a file."""
    write_json(path, content)
