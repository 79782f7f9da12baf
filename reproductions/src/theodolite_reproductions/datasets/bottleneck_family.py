"""Several forms of one data set, for models that are compared over them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from theodolite.errors import EvidenceError
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData
from theodolite_reproductions.datasets.cub_bottleneck import cub_features
from theodolite_reproductions.datasets.dsprites import dsprites
from theodolite_reproductions.datasets.ham10k import ham10k_concepts
from theodolite_reproductions.datasets.shapes3d import shapes3d
from theodolite_reproductions.datasets.tabular_toy import tabular_toy

MAKERS: dict[str, Callable[..., BottleneckData]] = {
    "tabular_toy": tabular_toy,
    "dsprites": dsprites,
    "shapes3d": shapes3d,
    "cub_features": cub_features,
    "ham10k_concepts": ham10k_concepts,
}
PLACES: dict[str, dict[str, str]] = {
    "shapes3d": {"path": "path"},
    "cub_features": {"root": "root", "pooled": "pooled"},
    "ham10k_concepts": {"root": "lesions"},
}
"""For each maker, which of its arguments is which path."""
Maker = Literal["tabular_toy", "dsprites", "shapes3d", "cub_features", "ham10k_concepts"]


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
    of: Maker,
    forms: dict[str, dict[str, Any]],
    root: Path | None = None,
    pooled: Path | None = None,
    path: Path | None = None,
    lesions: Path | None = None,
) -> BottleneckFamily:
    """Forms of a data set, or of several: a name for each, and the arguments that make it.

    Args:
        of: The data set; a form that says ``of`` itself is of another.
        forms: For each name the arguments of the data set.
        root: The folder of CUB.
        pooled: Its features.
        path: The file of 3dshapes, if there is one.
        lesions: The folder of HAM10000.

    >>> family = bottleneck_family("tabular_toy", {"complete": {"n": 200},
    ...     "incomplete": {"n": 200, "concepts": "incomplete"}})
    >>> [len(data.concepts) for data in family.members.values()]
    [3, 2]
    """
    if not forms:
        raise EvidenceError("forms", "none", "at least one name with arguments")
    paths = {"root": root, "pooled": pooled, "path": path, "lesions": lesions}
    members = {}
    for name, arguments in forms.items():
        if set(arguments) & set(paths):
            raise EvidenceError(f"form {name!r}", "a path", "paths beside `forms`, not inside")
        own = {key: value for key, value in arguments.items() if key != "of"}
        members[name] = _member(name, arguments.get("of", of), own, paths)
    return BottleneckFamily(members)


def _member(
    name: str, of: str, arguments: dict[str, Any], paths: Mapping[str, Path | None]
) -> BottleneckData:
    if of not in MAKERS:
        raise EvidenceError(f"form {name!r}", f"of {of!r}", f"one of {', '.join(MAKERS)}")
    places = {argument: paths[which] for argument, which in PLACES.get(of, {}).items()}
    places = {argument: where for argument, where in places.items() if where is not None}
    try:
        return MAKERS[of](**places, **arguments)
    except TypeError as error:
        raise EvidenceError(f"form {name!r}", str(error), f"arguments of {of}") from error
