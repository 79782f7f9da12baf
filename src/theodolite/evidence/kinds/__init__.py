"""Kinds of evidence, one per file. Importing this package registers them in the listed order."""

import importlib

KIND_MODULES = (
    "concept", "location", "unit", "embedding", "intervention", "surrogate", "saliency", "rating",
    "edit", "token", "judgment", "attribution",
)  # fmt: skip

for _kind in KIND_MODULES:
    importlib.import_module(f"{__name__}.{_kind}")
