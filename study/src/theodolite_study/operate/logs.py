"""Log as JSON lines without answers, ids of people or query strings. Used by all processes."""

import json
import logging
import traceback
from datetime import datetime, timezone
from logging.config import dictConfig
from typing import Any

MAX_FRAMES = 12


class JsonLines(logging.Formatter):
    """Formatter of one JSON object per line. Error messages are left out, as they may hold data."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a log record as one line."""
        at = datetime.fromtimestamp(record.created, timezone.utc)
        line: dict[str, Any] = {
            "at": at.isoformat(timespec="milliseconds"), "level": record.levelname.lower(),
            "from": record.name,
        }  # fmt: skip
        parts = getattr(record, "parts", None)
        if parts is None:
            line["message"] = record.getMessage().strip()
        else:
            line |= parts
        if record.exc_info and record.exc_info[1] is not None:
            line |= describe_error(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return the type and location of an error, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    parts: dict[str, Any] = {
        "error": f"{type(error).__module__}.{type(error).__qualname__}",
        "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }
    state = getattr(error, "sqlstate", None)
    return parts | ({"sqlstate": state} if state else {})


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"lines": {"()": "theodolite_study.operate.logs.JsonLines"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
    "root": {"level": "WARNING", "handlers": ["stderr"]},
    "loggers": {
        "theodolite_study": {"level": "INFO"},
        "uvicorn": {"level": "WARNING"},
        "uvicorn.access": {"handlers": [], "propagate": False},
    },
}
"""Configuration for `logging.config.dictConfig` and for the processes that uvicorn starts."""


def log_as_lines() -> None:
    """Configure logging of this process as JSON lines."""
    dictConfig(LOGGING)
