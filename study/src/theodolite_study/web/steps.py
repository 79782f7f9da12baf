"""Which step comes next, decided in one place, and which pages belong to which step."""

from theodolite_study.lifecycle import OVER
from theodolite_study.people import Participant
from theodolite_study.rankings import ranked
from theodolite_study.refusals import WrongStage
from theodolite_study.visits import live_assignment
from theodolite_study.web.site import Site, Visitor

TAKING_PART = ("consented", "training", "active", "finished")
GONE = ("declined", "screened_out", "withdrawn")

SHOWN = {
    "consent": ("landed",),
    "code": TAKING_PART,
    "demographics": ("consented",),
    "training": ("training",),
    "item": ("active", "finished"),
    "next": ("active",),
    "post": ("finished",),
    "finish": ("finished",),
    "ended": GONE,
}
"""Page to the states in which it is shown; in others people are led to their own step."""
TAKEN = {
    "consent": ("landed", *TAKING_PART),
    "decline": ("landed", "declined"),
    "demographics": TAKING_PART,
    "training": ("training", "active", "finished"),
    "next": ("active", "finished"),
    "item": ("active", "finished", "screened_out"),
    "post": ("finished",),
}
"""Form to the states in which it is taken. Later states are there for forms that are sent twice."""


class Elsewhere(Exception):
    """Another page is the right one."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address


class NobodyKnown(WrongStage):
    """A form from somebody whose session is over, or who never began."""

    status = 401

    def __init__(self) -> None:
        super().__init__("We do not know who you are: please begin again from the first page.")


def where_next(site: Site, who: Participant, study_state: str) -> str:
    """The page that a person should be on."""
    if who.state in GONE:
        return "/ended"
    over = study_state in OVER and not who.preview
    if who.state == "finished":
        return "/finish" if over or ranked(site.database, who.id) else "/post"
    if over:
        return "/ended"
    if who.state == "active":
        waiting = live_assignment(site.database, who.id)
        return "/next" if waiting is None else f"/a/{waiting}"
    return {"landed": "/consent", "consented": "/demographics", "training": "/training"}[who.state]


def shown(site: Site, visitor: Visitor, page: str) -> Participant:
    """The person, if this page is theirs now; else they are led on."""
    who = visitor.participant
    if who is None:
        raise Elsewhere(site.home)
    over = visitor.study_state in OVER and not who.preview
    fits = who.state in SHOWN[page] or (page == "ended" and over and who.state != "finished")
    if not fits or (over and page not in ("ended", "code", "finish")):
        raise Elsewhere(where_next(site, who, visitor.study_state))
    return who


def taken(visitor: Visitor, form: str) -> Participant:
    """The person, if this form may come from them now."""
    who = visitor.participant
    if who is None:
        raise NobodyKnown
    if who.state not in TAKEN[form]:
        raise WrongStage("This step is not the one where you are.")
    return who
