"""See `serve/settings.py`."""

from theodolite_study.serve.settings import (
    DATABASE,
    FOLDER,
    ORIGIN,
    PARENT,
    WEBHOOKS,
    Limits,
    Settings,
    settings_from,
)

__all__ = [
    "DATABASE",
    "FOLDER",
    "ORIGIN",
    "PARENT",
    "WEBHOOKS",
    "Limits",
    "Settings",
    "settings_from",
]
