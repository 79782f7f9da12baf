"""Whether an export shows that the own answer came first, from its files alone."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

Tables = Mapping[str, Mapping[str, list[Any]]]
Moments = Literal["of the study", "of each person"]
"""How moments are told: in one order of everybody and to the microsecond; or, in what is published,
in an order of each person's own and in whole seconds."""
SHOWN = 5
PLACES = ("baseline_order", "reveal_order", "vote_order")
MOMENTS = (*PLACES, "seconds_baseline_to_reveal", "seconds_reveal_to_vote")


def listed(keys: list[Any]) -> str:
    """How many, and the first of them."""
    shown = ", ".join(str(key) for key in keys[:SHOWN])
    return f"{len(keys):,} ({shown}{', …' if len(keys) > SHOWN else ''})"


def order_faults(moments: Moments, tables: Tables) -> Iterator[str]:
    """Own answer before explanation before ratings, for each vote; else a sentence."""
    order = tables["order"]
    proved, early = set(), []
    for key, who, kind, *told in zip(
        *(order[name] for name in ("instance", "participant", "kind", *MOMENTS)), strict=True
    ):
        if not _in_order(*told, whole=moments == "of each person"):
            early.append(f"{key} of {who}")
        elif told[2] is not None and kind == "real":
            proved.add((key, who))
    if early:
        yield f"Not in the order own answer, explanation, ratings: {listed(early)}."
    votes, said_first = tables["votes"], tables["baselines"]
    given = list(zip(votes["instance"], votes["participant"], strict=True))
    unproved = [pair for pair in given if pair not in proved]
    if unproved:
        yield f"Votes whose order is not told: {listed(unproved)}."
    own = set(zip(said_first["instance"], said_first["participant"], strict=True))
    without = [pair for pair in given if pair not in own]
    if without:
        yield f"Votes without an own answer before: {listed(without)}."
    yield from _places(moments, order)
    if not unproved:
        yield from _votes_in_order(moments, tables, given)


def _in_order(
    said: int | None,
    shown: int | None,
    voted: int | None,
    wait: float | None,
    look: float | None,
    *,
    whole: bool,
) -> bool:
    """Nothing was shown before the own answer, nothing rated before it was shown."""
    if shown is not None:
        if said is None or said >= shown or wait is None:
            return False
        if wait < 0 or (wait == 0 and not whole):  # less than half a second is 0 whole ones
            return False
    return voted is None or not (shown is None or shown >= voted or look is None or look < 0)


def _places(moments: Moments, order: Mapping[str, list[Any]]) -> Iterator[str]:
    """Each place once, from 1 without gaps: of the study, or of each person."""
    found: dict[Any, list[int]] = {}
    for who, *places in zip(*(order[name] for name in ("participant", *PLACES)), strict=True):
        one = who if moments == "of each person" else ""
        found.setdefault(one, []).extend(place for place in places if place is not None)
    odd = [who for who, places in found.items() if sorted(places) != list(_from_one(places))]
    if odd:
        of = f": {listed(odd)}" if moments == "of each person" else ""
        yield f"Places of moments that do not count from 1{of}."


def _from_one(places: list[int]) -> range:
    return range(1, len(places) + 1)


def _votes_in_order(
    moments: Moments, tables: Tables, given: list[tuple[str, str]]
) -> Iterator[str]:
    votes, order = tables["votes"], tables["order"]
    pairs = zip(order["instance"], order["participant"], strict=True)
    places = dict(zip(pairs, order["vote_order"], strict=True))
    by_time = sorted(given, key=lambda pair: places[pair])
    counts: Counter[str] = Counter()
    expected = {}
    for key, who in by_time:
        one = who if moments == "of each person" else ""
        counts[one] += 1
        expected[key, who] = counts[one]
    if any(expected[pair] != at for pair, at in zip(given, votes["at_order"], strict=True)):
        yield "The votes' places (`at_order`) are not those of table `order`."
