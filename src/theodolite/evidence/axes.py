"""Named axes: which concepts, classes, parts and samples the rows and columns stand for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, get_args

import numpy as np

from theodolite.errors import EvidenceError, printable
from theodolite.evidence.foreign_arrays import labeled

ConceptKind = Literal["binary", "categorical", "continuous"]
Named = TypeVar("Named", bound="NamedAxis")
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
    """What one position, and several, are called; the name of the class where not declared."""
    fixed: ClassVar[bool] = False
    """Whether the names mean something by themselves, so that no others will do."""

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
    def numbered(cls: type[Named], n: int) -> Named:
        """Stand-in names for arrays that come without: ``concept 0``, ``concept 1``, …"""
        return cls(tuple(f"{cls.singular} {i}" for i in range(n)))

    def header(self) -> dict[str, Any]:
        """What a file needs to know to make this axis again."""
        return {"names": list(self.names)}


@dataclass(frozen=True)
class Classes(NamedAxis):
    """The answers that the model can give."""

    singular = "class"


@dataclass(frozen=True)
class Parts(NamedAxis):
    """Places that concepts are tied to: a beak, a window."""


@dataclass(frozen=True)
class Policies(NamedAxis):
    """Ways to choose which concept to correct next."""

    singular = "policy"


@dataclass(frozen=True)
class Removals(NamedAxis):
    """Ways to remove pixels: paint them black, fill them from their neighbors."""


@dataclass(frozen=True)
class Chances(NamedAxis):
    """Maps that know nothing of the network, which others are held against."""


@dataclass(frozen=True)
class Noises(NamedAxis):
    """Kinds of noise that images are disturbed with."""


@dataclass(frozen=True)
class Raters(NamedAxis):
    """People who rate explanations."""


@dataclass(frozen=True)
class Measures(NamedAxis):
    """Numbers that can be had of an explanation without people."""


@dataclass(frozen=True)
class Techniques(NamedAxis):
    """Ways to explain a decision: a method on a network."""


@dataclass(frozen=True)
class Groups(NamedAxis):
    """Groups of people."""


@dataclass(frozen=True)
class Units(NamedAxis):
    """Channels, neurons or dictionary features of a network."""


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
    """Features that are one thing and are removed together: one-hot columns of a category."""

    plural = "feature groups"


@dataclass(frozen=True)
class AttributionScale(NamedAxis):
    """What an explained output is: a probability, log-odds, or a raw number."""

    plural = "scale"
    singular = "scale"
    fixed = True


@dataclass(frozen=True)
class Latents(NamedAxis):
    """Numbered units with a value at every token: so many that only names that were given are kept.

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
        """So many without names."""
        return cls(count=n)

    def name(self, number: int) -> str:
        """The name of one, or its number in words."""
        return self.names[number] if self.names else f"{self.singular} {number}"

    def header(self) -> dict[str, Any]:
        return {"names": list(self.names), "count": self.count}


@dataclass(frozen=True)
class Predicates(NamedAxis):
    """What may hold of a token: that it is a certain word, begins a sentence, is capitalized."""


@dataclass(frozen=True)
class LatentExplanations(NamedAxis):
    """Latents that are explained, each by what it is said to stand for."""

    singular = "explanation"
    plural = "explanations"


@dataclass(frozen=True)
class Judges(NamedAxis):
    """Models or people who answer questions."""


@dataclass(frozen=True)
class Tasks(NamedAxis):
    """What judges are asked."""

    fixed = True


@dataclass(frozen=True)
class Concepts(NamedAxis):
    """The words of the explanation, each binary, categorical or continuous.

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
    """Images or rows: a number that survives cutting into shards, perhaps ids and clusters.

    Samples of one cluster (images of one patient, sentences of one text) are not independent:
    intervals resample whole clusters where these are given.
    """

    index: np.ndarray | None = None
    ids: np.ndarray | None = None
    clusters: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.index is None and (self.ids is not None or self.clusters is not None):
            column = self.ids if self.ids is not None else self.clusters
            object.__setattr__(self, "index", np.arange(len(labeled(column, "samples").values)))
        for name, kinds in (("index", "iu"), ("ids", "U"), ("clusters", "iu")):
            values = getattr(self, name)
            if values is None:
                continue
            values = labeled(values, f"samples.{name}").values
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
        """0, 1, 2, …"""
        return cls(index=np.arange(n))

    def __getitem__(self, rows: Rows) -> "Samples":
        cut = object.__new__(Samples)  # already checked; a resample may repeat ids
        for name in ("index", "ids", "clusters"):
            values = getattr(self, name)
            object.__setattr__(cut, name, None if values is None else values[rows])
        return cut

    @classmethod
    def joined(cls, parts: Sequence["Samples"]) -> "Samples":
        """Several, one after the other; what some lack is dropped."""
        whole = object.__new__(cls)
        for name in ("index", "ids", "clusters"):
            values = [getattr(part, name) for part in parts]
            lacking = any(value is None for value in values)
            object.__setattr__(whole, name, None if lacking else np.concatenate(values))
        return whole

    def name(self, row: int) -> str:
        """The id of a row, or its number."""
        if self.ids is not None:
            return str(self.ids[row])
        return str(row if self.index is None else self.index[row])
