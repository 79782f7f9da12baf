"""Whether an export is what it says, from its files alone."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from theodolite.errors import EvidenceError
from theodolite.ext.studies import (
    PICTURES,
    QUESTIONS,
    SCALE,
    checked_together,
    confined,
    read_json,
    read_material,
    read_parquet,
    read_yaml,
    sha256_of,
)
from theodolite_study.answers import questions_of
from theodolite_study.export_manifest import FORMAT, MANIFEST
from theodolite_study.export_order import Moments, Tables, listed, order_faults
from theodolite_study.protocol import Protocol

TABLES = (
    "votes", "baselines", "boxes", "instances", "participants", "checks", "rankings", "aggregates",
    "design", "order",
)  # fmt: skip


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
        yield f"More than {wanted} counted votes: {listed(over)} explanations."
    if under:
        yield f"Fewer than {wanted} counted votes: {listed(under)} explanations."
    if twice:
        yield f"One person counted twice: {listed(twice)} explanations."
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
        yield f"Votes and seats do not agree: {listed(odd)} explanations."


def _order(_: Path, manifest: dict[str, Any], tables: Tables) -> Iterator[str]:
    if manifest["moments"] not in get_args(Moments):
        yield "The manifest does not say how moments are told."
        return
    yield from order_faults(manifest["moments"], tables)


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
        yield f"Aggregates that do not follow from the votes: {listed(sorted(odd))}."


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
            yield f"People in table {name} who are not in `participants`: {listed(strange)}."
    fewest = manifest["people"]["fewest_of_a_combination"]
    bands = zip(*(people[name] for name in ("age_band", "gender", "country")), strict=True)
    votes = zip(people["votes"], people["surplus_votes"], strict=True)
    told: Counter[tuple[Any, ...]] = Counter()
    for said, given in zip(bands, votes, strict=True):
        told[said] += any(given)  # who did not vote hides nobody
    rare = [said for said, many in told.items() if any(said) and many < fewest]
    if rare:
        yield f"Fewer than {fewest} people who voted share a combination of bands: {listed(rare)}."
