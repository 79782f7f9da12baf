"""What templates are given: plain values, ready to be shown. Templates know nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from theodolite_study.people import Participant
from theodolite_study.practice import Progress
from theodolite_study.protocol import Protocol, Ranking

Legend: TypeAlias = Literal["signed", "unsigned"]


@dataclass(frozen=True)
class ExplanationView:
    """A picture with its explanation: colours to be laid over it, or concepts with weights."""

    label: str
    """What the network said the picture shows."""
    picture_url: str
    map_url: str | None
    concepts: Sequence[tuple[str, float]] | None
    legend: Legend
    width: int
    height: int


@dataclass(frozen=True)
class QuestionView:
    """A statement with a scale from 1 to 5."""

    name: str
    """The form's field: q1."""
    number: int
    text: str
    low: str
    high: str
    value: int | None = None
    """What was chosen in a form that came back, or in a draft."""
    twin: ExplanationView | None = None
    """For questions 5 and 6: the changed picture with its explanation."""


@dataclass(frozen=True)
class ItemView:
    """One picture and what is asked about it, in one of two stages.

    Forms go to ``action`` + ``/baseline`` and ``/ratings``; JSON goes to ``/draft`` (``{"text": …,
    "boxes": […], "answers": {"q1": 3}}``, each may be left out) and ``/heartbeat`` (``{}``, the
    answer is ``{"lease_seconds": …}``, with ``"lost": true`` if it went to another), both with the
    header X-CSRF; a form with ``reason`` to ``/release``. Practice has ``/baseline`` and
    ``/ratings`` only. Whoever sends a form with ``Accept: application/json`` is answered by
    ``{"next": address}`` instead of a redirect, and refusals by ``{"message": …, "errors": […]}``;
    503 and 429 carry Retry-After.
    """

    action: str
    """Where its forms go: /a/12 or /training/2, then /baseline, /ratings and so on."""
    practice: bool
    position: int
    of: int
    before: bool
    """The first stage: what do you see? Nothing of the explanation is in this view."""
    label: str
    width: int
    height: int
    picture_url: str
    text: str = ""
    boxes: Sequence[Mapping[str, float]] = ()
    """Draft or stored; in the second stage they are drawn to be seen, not to be changed."""
    instruction: str = ""
    lease_seconds: float = 0.0
    explanation: ExplanationView | None = None
    questions: Sequence[QuestionView] = ()
    key: str = ""
    """Names this form: a second sending of it is the same sending."""


@dataclass(frozen=True)
class Everywhere:
    """What every template is given."""

    study: Protocol
    csrf: str
    participant: Participant | None = None
    errors: Sequence[str] = ()
    """Sentences, shown together at the top."""
    said: str = ""


@dataclass(frozen=True)
class LandingView:
    """landing.html.j2: the form posts to /s/{slug}/begin, with `code` if an invitation is needed.

    Without ``begins`` nothing can be begun from here: the offer is only being looked at, or people
    come from a platform's own page.
    """

    minutes: int
    needs_invite: bool
    begins: bool = True
    open: bool = True
    """Whether the study takes new people now."""
    needs_code: bool = False
    """Somebody is known already on another device: `code` is their withdrawal code then."""
    instead: str = ""
    """The address names somebody else than the one who takes part here: what it said."""


@dataclass(frozen=True)
class ConsentView:
    """consent.html.j2: forms post to /consent and /decline."""


@dataclass(frozen=True)
class CodeView:
    """code.html.j2: the withdrawal code, to be kept. A link goes on to /demographics."""

    code: str


@dataclass(frozen=True)
class AboutYouView:
    """about_you.html.j2: `age_band`, `gender`, `country`, each may be empty. No list: not asked."""

    age_bands: Sequence[str]
    genders: Sequence[str]
    countries: Sequence[tuple[str, str]]
    """Code of two letters, name."""


@dataclass(frozen=True)
class PracticeView:
    """practice.html.j2: a link to /training/{progress.number}."""

    progress: Progress


@dataclass(frozen=True)
class ItemPage:
    """item.html.j2."""

    item: ItemView


@dataclass(frozen=True)
class FeedbackView:
    """feedback.html.j2: a link to /training; after the last item a form to /training/end."""

    item: ItemView
    passed: bool
    feedback: str
    last: bool


@dataclass(frozen=True)
class WaitView:
    """wait.html.j2, shown at /next: a form posts to /next again, after so many seconds.

    0 says that nothing has to be waited for: this is the page before the first item, or where
    somebody comes back. It shows the instructions and a button, and does nothing by itself.
    A refresh of the page loads GET /next, which takes nothing. Whoever does not want to wait posts
    to /next/finish.
    """

    retry_after: int


@dataclass(frozen=True)
class RankingsView:
    """rankings.html.j2: `q7_0` is the place of item 0, from 1."""

    rankings: Mapping[str, Ranking]
    begin: Mapping[str, Sequence[int]]
    """The order in which each list's items stand at first: another one for each person."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """What was chosen in a form that came back: field to place."""


@dataclass(frozen=True)
class FinishView:
    """finish.html.j2."""

    code: str
    """Empty for whoever has rated nothing."""
    platform_url: str | None


@dataclass(frozen=True)
class EndedView:
    """ended.html.j2: the person does not go on."""

    why: Literal["declined", "screened_out", "withdrawn", "closed"]
    platform_url: str | None = None
    code: str = ""


@dataclass(frozen=True)
class WithdrawView:
    """withdraw.html.j2: a form posts to /withdraw, with `code` if nobody is known here."""

    needs_code: bool


@dataclass(frozen=True)
class MessageView:
    """message.html.j2: refusals and faults."""

    status: int
    message: str
    back: str | None
    """A page of ours to go on from."""


View: TypeAlias = (
    LandingView
    | ConsentView
    | CodeView
    | AboutYouView
    | PracticeView
    | ItemPage
    | FeedbackView
    | WaitView
    | RankingsView
    | FinishView
    | EndedView
    | WithdrawView
    | MessageView
)

TEMPLATES: Mapping[type[Any], str] = {
    LandingView: "landing.html.j2",
    ConsentView: "consent.html.j2",
    CodeView: "code.html.j2",
    AboutYouView: "about_you.html.j2",
    PracticeView: "practice.html.j2",
    ItemPage: "item.html.j2",
    FeedbackView: "feedback.html.j2",
    WaitView: "wait.html.j2",
    RankingsView: "rankings.html.j2",
    FinishView: "finish.html.j2",
    EndedView: "ended.html.j2",
    WithdrawView: "withdraw.html.j2",
    MessageView: "message.html.j2",
}
