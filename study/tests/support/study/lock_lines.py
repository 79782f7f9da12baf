"""Lines by which steps wait for each other, and what would happen without each of them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from support.study.gates import Connection, gated, step_functions

LOCK = re.compile(
    r"for (?:update|share)(?: of \w+)?(?: skip locked)?|pg_advisory_xact_lock\w*\(.*\)(?=;)"
)


@dataclass(frozen=True)
class LockLine:
    """One of them, taken out of its function or made to wait."""

    function: str
    old: str
    new: str
    at: int

    def text(self) -> str:
        """The function without it, with gates."""
        whole = step_functions()[self.function]
        return gated(whole[: self.at] + self.new + whole[self.at + len(self.old) :])


def lock_lines() -> dict[str, LockLine]:
    """All, by function and number; `waits`: nobody is passed over."""
    found = {}
    for name, text in step_functions().items():
        matches = list(LOCK.finditer(text))
        for number, match in enumerate(matches, 1):
            new = "1" if match[0].startswith("pg_advisory") else ""
            key = f"{name} {number}" if len(matches) > 1 else name
            found[key] = LockLine(name, match[0], new, match.start())
            if match[0].endswith("skip locked"):
                waits = match[0].removesuffix(" skip locked")
                found[f"{key} waits"] = LockLine(name, match[0], waits, match.start())
    return found


@contextmanager
def without(connection: Connection, line: LockLine) -> Iterator[None]:
    """The database without a line."""
    connection.execute(line.text())
    try:
        yield
    finally:
        connection.execute(gated(step_functions()[line.function]))


BITTEN: dict[str, str] = {
    "st_held 2": "double click",
    "st_seat 2": "two claim the last seat",
    "st_seat 2 waits": "two claim the last seat",
    "st_item": "withdrawal, look",
    "st_rate": "claim, late vote",
    "st_withdraw 1": "withdrawal, vote",
    "st_withdraw 2": "withdrawal, takeover",
    "st_arrive 1": "close, arrival",
    "st_arrive 2": "withdrawal, comes again",
    "st_again": "withdrawal, another browser",
    "st_take_place 1": "two come to the last promise",
    "st_freed": "inactive, returns",
    "st_back": "two who return, one seat",
    "st_activate": "two rows of the panel",
    "desk_take_out 2": "taken out twice",
    "desk_promise": "two are asked for one more",
    "version_part_frozen": "opening, change of a text",
}
"""The race that goes wrong without it."""
BEHIND: dict[str, str] = {
    "st_held 1": "whoever closes a study locks everybody who is inside",
    "st_seat 1": "a row of the panel is one person's, who is locked",
    "st_seat 1 waits": "a row of the panel is one person's, who is locked",
    "st_seat 3": "a hint: it can only rise, and a wrong one costs time, never a seat",
    "st_seat 3 waits": "a hint: it can only rise, and a wrong one costs time, never a seat",
    "st_arrive 3": "the same click made the row just now; nobody has its code yet",
    "st_freed waits": "it would be slower: whoever is locked has just given a sign of life",
    "st_take_place 2": "the door is locked before, by everybody who takes an open place",
    "st_take_place 2 waits": "the door is locked before, by everybody who takes an open place",
    "desk_take_out 1": "closing does not look at votes, and the person is locked",
    "desk_take_out 3": "filled seats are their person's, who is locked",
    "st_out": "seats of a row of the panel are locked in the order of their numbers, as all do",
    "st_goes_over": "door_available: promising more than there is raises, and is tried again",
}
"""Lines that other guards stand behind, so that no race goes wrong without them."""
