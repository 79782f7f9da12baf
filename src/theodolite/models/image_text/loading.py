"""Load CLIP and SigLIP by name from any supported library."""

from pathlib import Path

from theodolite.errors import EvidenceError
from theodolite.models.image_text.towers import Towers


def load_towers(name: str, weights: Path | None = None) -> Towers:
    """Load the named pair: ``open_clip:<model>@<weights>`` or ``transformers_clip:<folder>``.

    ``weights`` may give the file or folder instead.
    """
    library, _, model = name.partition(":")
    if library == "open_clip":
        from theodolite.models.image_text.open_clip_towers import load_open_clip_towers  # noqa: PLC0415

        model, _, source = model.partition("@")
        return load_open_clip_towers(model, source if weights is None else str(weights))
    if library == "transformers_clip":
        from theodolite.models.image_text.transformers_towers import load_transformers_towers  # noqa: PLC0415

        return load_transformers_towers(model if weights is None else str(weights))
    raise EvidenceError(
        "towers", repr(name), "open_clip:<model>@<weights> or transformers_clip:<folder>"
    )
