"""An entry of the ledger: a definition, number, figure or claim of a paper, and its test."""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

Kind = Literal["option", "definition", "algorithm", "number", "figure", "finding", "ablation"]
Type = Literal[
    "exact", "artifact", "figure", "difference", "correlation", "difference_of_correlations",
    "trend", "share", "equivalence", "rank", "interval", "none",
]  # fmt: skip
Rule = Literal[
    "sign", "line", "slope", "inside margin", "lowest decile", "upper quarter", "six digits",
    "written", "printed inside", "moves", "range", "none",
]  # fmt: skip
Reason = Literal[
    "no data", "no network", "no people", "task cannot show it", "paper cites another"
]  # fmt: skip
REASONS: tuple[Reason, ...] = get_args(Reason)
"""Why something cannot be tested here; nothing else is a reason."""
NOT_IN_THE_CATALOGUE = (
    "concept_maps", "concept_overlay", "cost", "question_correlation", "text_overlap",
)  # fmt: skip
"""What measures an entry and is no score."""
ID = re.compile(r"P00[0-4]-(?:[DAO]|F0?|AB|T[0-9]{1,2})-[0-9]{2}")
DECIDED_BY_TESTS = ("exact", "artifact")
ON_A_LINE = ("difference", "correlation", "difference_of_correlations", "trend", "share")
"""Tests of a signed effect against 0 and against the smallest effect of the claim."""


class PaperPart(BaseModel):
    """A part of a file of the ledger: what it does not know, it refuses."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PaperMaterial(PaperPart):
    """What the paper used."""

    data: str | None = None
    network: str | None = None


class EntryTest(PaperPart):
    """How a run decides the entry."""

    type: Type
    rule: Rule
    quantity: str | None = None
    unit: str | None = None
    """What is a sample in the claim, and so what is resampled."""
    line: float | None = None
    margin: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _complete(self) -> "EntryTest":
        if (self.type == "equivalence") != (self.margin is not None):
            raise ValueError("a margin belongs to an equivalence, and to nothing else")
        if (self.type == "share") != (self.line is not None):
            raise ValueError("a line belongs to a share, and to nothing else")
        return self


class PaperEntry(PaperPart):
    """One entry. Its verdict is never written here: tests and runs give it."""

    id: str
    where: str
    """The place in the paper."""
    kind: Kind
    states: str
    """What the paper says, in our words."""
    printed: dict[Any, Any] | None = None
    """The paper's figures."""
    score: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    needs: PaperMaterial = PaperMaterial()
    expect: str | None = None
    test: EntryTest
    effect: Annotated[float, Field(gt=0)] | None = None
    """The smallest effect that would still be the paper's finding."""
    moved_by: tuple[str, ...] = ()
    """Options whose sweep stands beside the verdict."""
    proofs: tuple[str, ...] = ()
    """Tests that prove a definition, or read the figure that a run makes."""
    reason: Reason | None = None
    """Why it cannot be tested here."""
    protocol: str | None = None
    """The protocol whose run decides it; it need not exist yet."""
    withdrawn: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "PaperEntry":
        if not ID.fullmatch(self.id):
            raise ValueError(f"{self.id!r} is no id such as P000-F0-01")
        if self.proofs and self.test.type not in DECIDED_BY_TESTS:
            raise ValueError(f"{self.id}: tests prove definitions and figures only")
        if self.proofs and self.reason:
            raise ValueError(f"{self.id}: what is proved needs no reason")
        if self.kind != "option" and self.test.type in ON_A_LINE and self.effect is None:
            raise ValueError(f"{self.id}: no smallest effect")
        return self

    @property
    def paper(self) -> str:
        """The number of the paper: 000 to 004."""
        return self.id[1:4]


class PaperFile(PaperPart):
    """The entries of one paper."""

    paper: Literal["000", "001", "002", "003", "004"]
    page: str
    """The name of its page in the documentation."""
    title: str
    entries: tuple[PaperEntry, ...]

    @model_validator(mode="after")
    def _of_this_paper(self) -> "PaperFile":
        for entry in self.entries:
            if entry.paper != self.paper:
                raise ValueError(f"{entry.id} is not of paper {self.paper}")
        return self
