"""Named axes of evidence: concepts, classes, parts, units, samples and others.
Every kind of evidence declares its arrays on these axes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, get_args

import numpy as np

from theodolite.errors import EvidenceError, printable
from theodolite.evidence.foreign_arrays import to_labeled_array

ConceptKind = Literal["binary", "categorical", "continuous"]
AxisType = TypeVar("AxisType", bound="NamedAxis")
Rows = slice | np.ndarray


def _checked_names(what: str, names: Sequence[Any]) -> tuple[str, ...]:
    names = tuple(names)
    for name in names:
        if not isinstance(name, str) or not name.strip() or len(name) > 300:
            raise EvidenceError(what, repr(name)[:60], "a name of 1 to 300 characters for each")
        if printable(name, 300) != name:
            raise EvidenceError(what, f"control characters in {name!r}", "plain text names")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise EvidenceError(what, f"{twice[0]!r} twice", "distinct names", "Rename one of them.")
    return names


@dataclass(frozen=True)
class NamedAxis:
    """An axis whose positions have names."""

    singular: ClassVar[str] = ""
    plural: ClassVar[str] = ""
    """Words for one position and for several; derived from the class name by default."""
    fixed: ClassVar[bool] = False
    """Whether the names are prescribed, so that a caller cannot choose others."""

    names: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = vars(cls)
        cls.plural = own.get("plural", cls.__name__.lower())
        cls.singular = own.get("singular", cls.plural.removesuffix("s"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", _checked_names(self.plural, self.names))

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def numbered(cls: type[AxisType], n: int) -> AxisType:
        """Return an axis with default names: ``concept 0``, ``concept 1``, …"""
        return cls(tuple(f"{cls.singular} {i}" for i in range(n)))

    def header(self) -> dict[str, Any]:
        """Return what a file stores to rebuild this axis."""
        return {"names": list(self.names)}


@dataclass(frozen=True)
class Classes(NamedAxis):
    """Classes that the model can predict."""

    singular = "class"


@dataclass(frozen=True)
class Parts(NamedAxis):
    """Parts of an object that concepts belong to, such as a beak or a window."""


@dataclass(frozen=True)
class Policies(NamedAxis):
    """Rules for choosing which concept to correct next."""

    singular = "policy"


@dataclass(frozen=True)
class Removals(NamedAxis):
    """Ways to remove pixels, such as painting them black or inpainting."""


@dataclass(frozen=True)
class Fills(NamedAxis):
    """What removed patches of an image are filled with, such as the mean color."""

    fixed = True


@dataclass(frozen=True)
class Chances(NamedAxis):
    """Uninformative baseline maps that saliency maps are compared with."""


@dataclass(frozen=True)
class Noises(NamedAxis):
    """Kinds of noise that are added to images."""


@dataclass(frozen=True)
class Raters(NamedAxis):
    """People who rate explanations."""


@dataclass(frozen=True)
class Measures(NamedAxis):
    """Automatic measures of an explanation, computed without raters."""


@dataclass(frozen=True)
class Techniques(NamedAxis):
    """Explanation techniques: a method applied to a model."""


@dataclass(frozen=True)
class Groups(NamedAxis):
    """Groups of raters, such as age bands."""


@dataclass(frozen=True)
class Units(NamedAxis):
    """Channels, neurons or SAE latents of a model."""


@dataclass(frozen=True)
class Features(NamedAxis):
    """Columns of a table: numbers, or categories that are coded as 0, 1, 2, …

    ``categories`` has the names of a feature's categories in the order of their codes, and nothing
    for a number.

    >>> Features(("age", "job"), categories=((), ("clerk", "cook"))).categories[1]
    ('clerk', 'cook')
    """

    categories: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        listed = tuple(self.categories) or ((),) * len(self)
        if len(listed) != len(self):
            raise EvidenceError(
                "features.categories", f"{len(listed)}", f"{len(self)}, one per feature"
            )
        names = zip(self.names, listed, strict=True)
        checked = tuple(_checked_names(f"categories of {name!r}", own) for name, own in names)
        object.__setattr__(self, "categories", checked)

    def header(self) -> dict[str, Any]:
        names: dict[str, Any] = {"names": list(self.names)}
        if any(self.categories):
            names["categories"] = [list(own) for own in self.categories]
        return names


@dataclass(frozen=True)
class FeatureGroups(NamedAxis):
    """Groups of features that are removed together, such as one-hot columns."""

    plural = "feature groups"


@dataclass(frozen=True)
class AttributionScale(NamedAxis):
    """Scale of the explained output: probability, log-odds or raw."""

    plural = "scale"
    singular = "scale"
    fixed = True


@dataclass(frozen=True)
class AttributionScope(NamedAxis):
    """Whether attributions are of each row (local), or one list for all rows (global)."""

    plural = "scope"
    singular = "scope"
    fixed = True


@dataclass(frozen=True)
class Latents(NamedAxis):
    """Numbered SAE latents or neurons; only given names are stored.

    >>> len(Latents(count=100_000)), Latents.numbered(3).name(1), Latents(("cat", "dog")).name(1)
    (100000, 'latent 1', 'dog')
    """

    count: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        count = self.count
        whole = isinstance(count, int) and not isinstance(count, bool) and count >= 0
        if not whole or (self.names and count not in (0, len(self.names))):
            raise EvidenceError("latents", f"{len(self.names)} names, count {count!r}", "as many")
        object.__setattr__(self, "count", count or len(self.names))

    def __len__(self) -> int:
        return self.count

    @classmethod
    def numbered(cls, n: int) -> "Latents":
        """Return ``n`` latents without names."""
        return cls(count=n)

    def name(self, number: int) -> str:
        """Return the name of a latent, or a default with its number."""
        return self.names[number] if self.names else f"{self.singular} {number}"

    def header(self) -> dict[str, Any]:
        return {"names": list(self.names), "count": self.count}


@dataclass(frozen=True)
class Predicates(NamedAxis):
    """Properties of a token, such as being a certain word or capitalized."""


@dataclass(frozen=True)
class LatentExplanations(NamedAxis):
    """Explanations of latents, each identified by its text."""

    singular = "explanation"
    plural = "explanations"


@dataclass(frozen=True)
class Judges(NamedAxis):
    """Models or people who answer questions about explanations."""


@dataclass(frozen=True)
class Tasks(NamedAxis):
    """Kinds of questions that judges answer."""

    fixed = True


@dataclass(frozen=True)
class Concepts(NamedAxis):
    """Concepts of the explanation, each binary, categorical or continuous.

    >>> Concepts(("horn", "color"), kinds=("binary", "categorical"), cardinalities=(2, 5))
    Concepts(names=('horn', 'color'), kinds=('binary', 'categorical'), cardinalities=(2, 5))
    """

    kinds: tuple[ConceptKind, ...] = ()
    cardinalities: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds = tuple(self.kinds) or ("binary",) * len(self)
        counts = tuple(self.cardinalities) or tuple(2 if k == "binary" else 0 for k in kinds)
        for what, values in (("kinds", kinds), ("cardinalities", counts)):
            if len(values) != len(self):
                raise EvidenceError(
                    f"concepts.{what}", f"{len(values)}", f"{len(self)}, one per concept"
                )
        for name, kind, count in zip(self.names, kinds, counts, strict=True):
            fits = {"binary": count == 2, "categorical": count >= 2, "continuous": count == 0}
            if kind not in get_args(ConceptKind) or not fits[kind]:
                raise EvidenceError(
                    f"concept {name!r}",
                    f"kind {kind!r} with {count} values",
                    "binary with 2, categorical with 2 or more, or continuous with 0",
                )
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "cardinalities", counts)

    def header(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "kinds": list(self.kinds),
            "cardinalities": list(self.cardinalities),
        }


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples (images or rows): a number that survives sharding, optional ids and clusters.

    Samples of one cluster (images of one patient, sentences of one text) are not independent:
    intervals resample whole clusters where these are given.
    """

    index: np.ndarray | None = None
    ids: np.ndarray | None = None
    clusters: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.index is None and (self.ids is not None or self.clusters is not None):
            column = self.ids if self.ids is not None else self.clusters
            object.__setattr__(
                self, "index", np.arange(len(to_labeled_array(column, "samples").values))
            )
        for name, kinds in (("index", "iu"), ("ids", "U"), ("clusters", "iu")):
            values = getattr(self, name)
            if values is None:
                continue
            values = to_labeled_array(values, f"samples.{name}").values
            if name == "clusters" and values.ndim == 1 and values.dtype.kind == "U":
                values = np.unique(values, return_inverse=True)[1]  # names of patients, say
            if values.size == 0 and name != "ids":
                values = values.astype(np.int64)
            if values.ndim != 1 or (values.dtype.kind not in kinds and values.size):
                raise EvidenceError(
                    f"samples.{name}",
                    f"{values.dtype} of shape {values.shape}",
                    "one whole number each" if "i" in kinds else "one string each",
                    "Pass strings, e.g. ids.astype(str)." if name == "ids" else "",
                )
            if len(values) != len(self):
                raise EvidenceError(f"samples.{name}", f"{len(values)}", f"{len(self)}, as index")
            object.__setattr__(self, name, values)
        if self.ids is not None and len(np.unique(self.ids)) < len(self.ids):
            raise EvidenceError("samples.ids", "an id twice", "distinct ids")

    def __len__(self) -> int:
        return 0 if self.index is None else len(self.index)

    @classmethod
    def numbered(cls, n: int) -> "Samples":
        """Return samples numbered 0, 1, 2, …"""
        return cls(index=np.arange(n))

    def __getitem__(self, rows: Rows) -> "Samples":
        cut = object.__new__(Samples)  # already checked; a resample may repeat ids
        for name in ("index", "ids", "clusters"):
            values = getattr(self, name)
            object.__setattr__(cut, name, None if values is None else values[rows])
        return cut

    @classmethod
    def joined(cls, parts: Sequence["Samples"]) -> "Samples":
        """Concatenate several; fields that some of them lack are dropped."""
        whole = object.__new__(cls)
        for name in ("index", "ids", "clusters"):
            values = [getattr(part, name) for part in parts]
            lacking = any(value is None for value in values)
            object.__setattr__(whole, name, None if lacking else np.concatenate(values))
        return whole

    def name(self, row: int) -> str:
        """Return the id of a row, or its number."""
        if self.ids is not None:
            return str(self.ids[row])
        return str(row if self.index is None else self.index[row])
