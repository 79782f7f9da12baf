"""One file a kind of evidence. Importing this enters all of them, in the order they are listed."""

import importlib

LISTED = (
    "concept", "location", "unit", "embedding", "intervention", "surrogate", "saliency", "rating",
    "edit", "token", "judgment", "attribution",
)  # fmt: skip

for _kind in LISTED:
    importlib.import_module(f"{__name__}.{_kind}")
