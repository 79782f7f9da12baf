"""Several forms of one data set, for models that are compared over them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from theodolite.datasets.bottleneck_data import BottleneckData
from theodolite.datasets.cub_bottleneck import cub_features
from theodolite.datasets.dsprites import dsprites
from theodolite.datasets.shapes3d import shapes3d
from theodolite.datasets.tabular_toy import tabular_toy
from theodolite.errors import EvidenceError

MAKERS: dict[str, Callable[..., BottleneckData]] = {
    "tabular_toy": tabular_toy,
    "dsprites": dsprites,
    "shapes3d": shapes3d,
    "cub_features": cub_features,
}


@dataclass(frozen=True, eq=False)
class BottleneckFamily:
    """Forms of a data set by name; the first is the one that models are trained on by default."""

    members: Mapping[str, BottleneckData]

    def summary(self) -> list[tuple[str, str]]:
        """What is in each, in a few lines."""
        return [
            (f"{name}: {what}", text)
            for name, data in self.members.items()
            for what, text in data.summary()
        ]


def bottleneck_family(
    of: Literal["tabular_toy", "dsprites", "shapes3d", "cub_features"],
    forms: dict[str, dict[str, Any]],
    root: Path | None = None,
    pooled: Path | None = None,
    path: Path | None = None,
) -> BottleneckFamily:
    """Forms of a data set: a name for each, and the arguments that make it.

    >>> family = bottleneck_family("tabular_toy", {"complete": {"n": 200},
    ...     "incomplete": {"n": 200, "concepts": "incomplete"}})
    >>> [len(data.concepts) for data in family.members.values()]
    [3, 2]
    """
    if not forms:
        raise EvidenceError("forms", "none", "at least one name with arguments")
    paths = {"root": root, "pooled": pooled, "path": path}
    places = {name: where for name, where in paths.items() if where is not None}
    members = {}
    for name, arguments in forms.items():
        if set(arguments) & set(paths):
            raise EvidenceError(f"form {name!r}", "a path", "paths beside `forms`, not inside")
        try:
            members[name] = MAKERS[of](**places, **arguments)
        except TypeError as error:
            raise EvidenceError(f"form {name!r}", str(error), f"arguments of {of}") from error
    return BottleneckFamily(members)
