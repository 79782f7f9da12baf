"""An entry of the ledger: a definition, number, figure or claim of a paper, and its test."""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

Kind = Literal[
    "option", "definition", "algorithm", "number", "figure", "finding", "ablation", "reading"
]  # fmt: skip
"""A reading is what we take from a figure and the paper does not say: no claim of the paper."""
Type = Literal[
    "exact", "artifact", "figure", "difference", "correlation", "difference_of_correlations",
    "trend", "share", "equivalence", "rank", "interval", "none",
]  # fmt: skip
Rule = Literal[
    "sign", "line", "slope", "inside margin", "lowest decile", "upper quarter", "six digits",
    "written", "printed inside", "single model inside", "moves", "range", "includes 0",
    "not below 0", "none",
]  # fmt: skip
Reason = Literal[
    "no data", "no network", "no people", "task cannot show it", "paper cites another",
    "not run: CPU time",
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
Threshold = Literal["effect", "line", "margin", "digit"]
Source = Annotated[str, Field(pattern=r"^(printed|definition|reading|convention: .*\(\d{4}\).*)$")]
"""Where a threshold is from; a convention names who set it, with the year."""


TEST_OWN = ("line", "margin", "digit")


class PaperPart(BaseModel):
    """A part of a file of the ledger: what it does not know, it refuses."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


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
    around: float = 0.0
    """The effect that the margin lies around."""
    digit: Annotated[float, Field(gt=0)] | None = None
    """The last digit of a printed figure."""

    @model_validator(mode="after")
    def _complete(self) -> "EntryTest":
        within = self.type == "equivalence" and self.rule not in ("includes 0", "not below 0")
        if within != (self.margin is not None):
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
    """The smallest effect that would still be the paper's finding. Without one, the test is against
    0 alone, and no cell is null."""
    thresholds_from: dict[Threshold, Source] = Field(default_factory=dict, alias="from")
    """The source of each threshold."""
    theirs: tuple[float, ...] = ()
    """The paper's printed figures as effects of this test; each must support the claim."""
    scope: Literal["across"] | None = None
    """The claim is over several data sets, or about chosen models, and is tested on one."""
    apart: dict[str, str] = Field(default_factory=dict)
    """Protocols, or settings such as `form=defined`, whose cells are shown and do not decide, with
    the reason."""
    moved_by: tuple[str, ...] = ()
    """Options whose sweep stands beside the verdict."""
    proofs: tuple[str, ...] = ()
    """Tests that prove a definition, or read the figure that a run makes."""
    reason: Reason | None = None
    """Why it cannot be tested here."""
    estimate: str | None = None
    """The CPU time of what was not run."""
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
        if (self.reason == "not run: CPU time") != (self.estimate is not None):
            raise ValueError(f"{self.id}: CPU time with an estimate, and nothing else")
        own = {"effect": self.effect} | {name: getattr(self.test, name) for name in TEST_OWN}
        used = {name for name, value in own.items() if value is not None}
        if used != set(self.thresholds_from):
            raise ValueError(f"{self.id}: thresholds {sorted(used)} need a source each, `from`")
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
    name: Annotated[str, Field(pattern=r"^[a-z]+\d{4}$")]
    """Author and year, by which commands and pages name it."""
    title: str
    entries: tuple[PaperEntry, ...]

    @model_validator(mode="after")
    def _of_this_paper(self) -> "PaperFile":
        for entry in self.entries:
            if entry.paper != self.paper:
                raise ValueError(f"{entry.id} is not of paper {self.paper}")
        return self
