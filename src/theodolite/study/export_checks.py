"""Whether an export is what it says, from its files alone."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from theodolite.contracts.study_material import PICTURES, read_material
from theodolite.contracts.vote_columns import QUESTIONS, SCALE, checked_together
from theodolite.errors import EvidenceError
from theodolite.io.paths import confined, sha256_of
from theodolite.io.tables import read_parquet
from theodolite.io.text import read_json, read_yaml
from theodolite.study.answers import questions_of
from theodolite.study.export_manifest import FORMAT, MANIFEST
from theodolite.study.protocol import Protocol

TABLES = (
    "votes", "baselines", "boxes", "instances", "participants", "checks", "rankings", "aggregates",
    "design", "order",
)  # fmt: skip
SHOWN = 5
Tables = Mapping[str, Mapping[str, list[Any]]]


def verify_export(folder: Path) -> list[str]:
    """What is not as it should be, in sentences; nothing if all is well.

    Digests of all files; exactly n votes of n different people for each explanation, or which
    have not; own answer before explanation before ratings; aggregates counted anew.
    """
    try:
        manifest = read_json(confined(folder, MANIFEST), "manifest")
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            return [f"{MANIFEST} is not of the format {FORMAT!r}."]
        problems = list(_files(folder, manifest))
        if problems:  # whoever changed a file may have changed any
            return problems
        tables = {
            name: read_parquet(confined(folder, f"{name}.parquet"), f"table {name}")
            for name in TABLES
        }
        checked_together(
            {name: tables[name] for name in ("votes", "baselines", "boxes", "instances")}
        )
        checks: tuple[Callable[[Path, dict[str, Any], Tables], Iterator[str]], ...] = (
            _protocol, _votes, _order, _aggregates, _people,
        )  # fmt: skip
        return [said for check in checks for said in check(folder, manifest, tables)]
    except EvidenceError as error:
        return [str(error)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return [f"The export is not of the form that was expected: {error!r}."]


def _listed(keys: list[Any]) -> str:
    shown = ", ".join(str(key) for key in keys[:SHOWN])
    return f"{len(keys):,} ({shown}{', …' if len(keys) > SHOWN else ''})"


def _files(folder: Path, manifest: dict[str, Any]) -> Iterator[str]:
    told = manifest["files"]
    for name, digest in sorted(told.items()):
        path = confined(folder, name)
        if not path.is_file():
            yield f"{name} is missing."
        elif sha256_of(path) != digest:
            yield f"{name} is not the file that the manifest tells of."
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()}
    for name in sorted(there - set(told) - {MANIFEST}):
        yield f"{name} is not in the manifest."
    for name in [f"{table}.parquet" for table in TABLES]:
        if name not in told:
            yield f"{name} is not in the manifest."


def _protocol(folder: Path, manifest: dict[str, Any], _: Tables) -> Iterator[str]:
    said = Protocol.model_validate(read_yaml(confined(folder, "protocol.yaml"), "protocol"))
    told = manifest["protocol"]
    if not told["left_out"] and said.digest().hex() != told["sha256"]:
        yield "protocol.yaml is not the protocol that was frozen when the study opened."
    if said.consent_digest().hex() != told["consent_sha256"]:
        yield "The form that people agreed to is not the one in protocol.yaml."
    for one in read_material(folder).instances:
        missing = [n for n in one.pictures() if not confined(folder / PICTURES, n).is_file()]
        if missing:
            yield f"Picture {missing[0][:12]}… of {one.key} is missing."


def _votes(_: Path, manifest: dict[str, Any], tables: Tables) -> Iterator[str]:
    votes, wanted = tables["votes"], manifest["votes"]["wanted_each"]
    people: dict[str, list[str]] = {key: [] for key in tables["instances"]["instance"]}
    for key, who, counted in zip(
        *(votes[name] for name in ("instance", "participant", "counted")), strict=True
    ):
        if counted:
            people[key].append(who)
    over = [key for key, who in people.items() if len(who) > wanted]
    under = [key for key, who in people.items() if len(who) < wanted]
    twice = [key for key, who in people.items() if len(set(who)) < len(who)]
    if over:
        yield f"More than {wanted} counted votes: {_listed(over)} explanations."
    if under:
        yield f"Fewer than {wanted} counted votes: {_listed(under)} explanations."
    if twice:
        yield f"One person counted twice: {_listed(twice)} explanations."
    having = Counter(str(len(who)) for who in people.values())
    if dict(having) != manifest["votes"]["instances_with"]:
        yield "The manifest tells other numbers of votes than the table."
    if sum(votes["counted"]) != manifest["votes"]["counted"] or (
        len(votes["counted"]) - sum(votes["counted"]) != manifest["votes"]["surplus"]
    ):
        yield "The manifest tells another number of counted or surplus votes than the table."
    yield from _seats(people, wanted, tables["design"])


def _seats(
    people: Mapping[str, list[str]], wanted: int, design: Mapping[str, list[Any]]
) -> Iterator[str]:
    seats: dict[str, list[Any]] = defaultdict(list)
    for key, who in zip(design["instance"], design["participant"], strict=True):
        seats[key].append(who)
    odd = [
        key
        for key, voted in people.items()
        if len(seats[key]) != wanted or sorted(voted) != sorted(w for w in seats[key] if w)
    ]
    if odd:
        yield f"Votes and seats do not agree: {_listed(odd)} explanations."


MOMENTS = (
    "baseline_order", "reveal_order", "vote_order",
    "seconds_baseline_to_reveal", "seconds_reveal_to_vote",
)  # fmt: skip


def _in_order(
    said: int | None, shown: int | None, voted: int | None, wait: float | None, look: float | None
) -> bool:
    """Nothing was shown before the own answer, nothing rated before it was shown."""
    if shown is not None and (said is None or said >= shown or wait is None or wait <= 0):
        return False
    return voted is None or not (shown is None or shown >= voted or look is None or look < 0)


def _order(_: Path, manifest: dict[str, Any], tables: Tables) -> Iterator[str]:
    order = tables["order"]
    proved, early = set(), []
    for key, who, kind, *moments in zip(
        *(order[name] for name in ("instance", "participant", "kind", *MOMENTS)), strict=True
    ):
        if not _in_order(*moments):
            early.append(f"{key} of {who}")
        elif moments[2] is not None and kind == "real":
            proved.add((key, who))
    if early:
        yield f"Not in the order own answer, explanation, ratings: {_listed(early)}."
    votes, said_first = tables["votes"], tables["baselines"]
    given = list(zip(votes["instance"], votes["participant"], strict=True))
    unproved = [pair for pair in given if pair not in proved]
    if unproved:
        yield f"Votes whose order is not told: {_listed(unproved)}."
    own = set(zip(said_first["instance"], said_first["participant"], strict=True))
    without = [pair for pair in given if pair not in own]
    if without:
        yield f"Votes without an own answer before: {_listed(without)}."
    places = dict(
        zip(zip(order["instance"], order["participant"], strict=True), order["vote_order"],
            strict=True)
    )  # fmt: skip
    told = [pair for _, pair in sorted(zip(votes["at_order"], given, strict=True))]
    if not unproved and told != sorted(given, key=lambda pair: places[pair]):
        yield "The votes' places (`at_order`) are not those of table `order`."


def _aggregates(folder: Path, manifest: dict[str, Any], tables: Tables) -> Iterator[str]:
    """Counted anew, by other means than those that wrote them."""
    said = Protocol.model_validate(read_yaml(confined(folder, "protocol.yaml"), "protocol"))
    answers: dict[tuple[str, str], list[int]] = {
        (one.key, name): []
        for one in read_material(folder).instances
        if one.kind == "real"
        for name in questions_of(said, one)
    }
    votes = tables["votes"]
    for at, counted in enumerate(votes["counted"]):
        for name in QUESTIONS:
            if counted and votes[name][at] is not None:
                answers[votes["instance"][at], name].append(votes[name][at])
    table = tables["aggregates"]
    found = {}
    for at, key in enumerate(zip(table["instance"], table["question"], strict=True)):
        found[key] = tuple(table[name][at] for name in (*NUMBERS, *(f"n_{i}" for i in SCALE)))
    odd = [key for key in {**answers, **found} if found.get(key) != _counted(answers.get(key))]
    if odd or len(found) != len(table["instance"]):
        yield f"Aggregates that do not follow from the votes: {_listed(sorted(odd))}."


NUMBERS = ("n", "mode", "mode_tie", "median", "mean")


def _counted(given: list[int] | None) -> tuple[Any, ...] | None:
    if given is None:
        return None
    often = [given.count(level) for level in SCALE]
    if not given:
        return (0, None, None, None, None, *often)
    most = [level for level, n in zip(SCALE, often, strict=True) if n == max(often)]
    ordered, n = sorted(given), len(given)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    return (n, most[0], len(most) > 1, middle, float(Fraction(sum(given), n)), *often)


def _people(_: Path, manifest: dict[str, Any], tables: Tables) -> Iterator[str]:
    people = tables["participants"]
    known = set(people["participant"])
    for name in ("votes", "baselines", "boxes", "checks", "rankings", "order"):
        strange = sorted(set(tables[name]["participant"]) - known)
        if strange:
            yield f"People in table {name} who are not in `participants`: {_listed(strange)}."
    fewest = manifest["people"]["fewest_of_a_combination"]
    told = Counter(zip(*(people[name] for name in ("age_band", "gender", "country")), strict=True))
    rare = [said for said, many in told.items() if any(said) and many < fewest]
    if rare:
        yield f"Fewer than {fewest} people share a combination of bands: {_listed(rare)}."
