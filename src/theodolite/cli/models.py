"""What commands make of options that name a model."""

from pathlib import Path
from typing import Any, NamedTuple

import typer

from theodolite._storage.text import read_json
from theodolite.cli.options import below_one_folder
from theodolite.errors import EvidenceError, printable

FILE_SCHEMES = ("hf", "export", "onnx", "shelf")
"""Their value may be a file or folder of this machine."""


class ModelOptions(NamedTuple):
    """Options of a command that say which model is meant and how to load it."""

    model: str
    weights: Path | None = None
    classes: Path | None = None
    preprocess: Path | None = None
    trust: bool = False

    def split(self) -> tuple[str, Path | None]:
        """Return the name without a folder of this machine, and the file or folder of weights."""
        scheme, _, value = self.model.partition(":")
        if scheme not in FILE_SCHEMES or not Path(value).exists():
            return self.model, self.weights
        if self.weights is not None:
            raise EvidenceError("--weights", "weights beside a file or folder that has its own",
                                f"{scheme}: alone")  # fmt: skip
        return f"{scheme}:{Path(value).resolve().name}", Path(value)

    def check_trust(self) -> None:
        """Say that code is run if that is allowed; refuse it otherwise."""
        from theodolite.models.loading import RUN_CODE, check_trusted, trust_model

        name, _ = self.split()
        scheme = name.partition(":")[0]
        if self.trust:
            trust_model(name)
            if scheme in RUN_CODE:
                text = f"note: {self.model} can run code: {RUN_CODE[scheme]}."
                typer.echo(printable(text, 300), err=True)
        check_trusted(name)

    def read_preprocessing(self) -> Any:
        """Return size, mean and std from their file; None without one."""
        return None if self.preprocess is None else read_json(self.preprocess, "preprocessing")

    def make_settings(self, data: Path) -> tuple[Path, str, dict[str, Any]]:
        """Return the folder that all paths are in, where in it the data is, and the settings of a
        pipeline that name the model.
        """
        from theodolite.models.loading import read_class_names

        name, weights = self.split()
        root, places = below_one_folder(data, weights)
        settings: dict[str, Any] = {"backbone": name}
        if weights is not None:
            settings["weights"] = places[1]
        if self.classes is not None:
            settings["classes"] = read_class_names(self.classes)
        if self.preprocess is not None:
            settings["preprocessing"] = self.read_preprocessing()
        return root, places[0], settings
