"""Verify an export from its files alone: checksums, votes, order and aggregates.

Used by `study verify`.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
from jaxtyping import Bool, Int

from theodolite.errors import EvidenceError
from theodolite.ext.studies import confined, read_columns, read_json, sha256_of
from theodolite_study.export.manifest import FORMAT, MANIFEST
from theodolite_study.export.snapshot import Moments

TABLE_NAMES = (
    "votes", "baselines", "boxes", "instances", "participants", "checks", "rankings", "aggregates",
    "design", "order", "answers", "comments", "consents", "outcomes", "payouts",
)  # fmt: skip
PAIR_TABLES = ("votes", "baselines", "boxes", "design", "order")
ORDER_COLUMNS = ("baseline_order", "reveal_order", "vote_order")
READ_COLUMNS = {
    "votes": ("counted", "at_order", "version", "consent_sha256"),
    "participants": ("votes", "surplus_votes"),
    "aggregates": ("question", "n", "mode", "mode_tie", "median", "mean"),
    "order": ("kind", *ORDER_COLUMNS, "seconds_baseline_to_reveal", "seconds_reveal_to_vote"),
    "consents": ("version", "sha256"),
}
"""Columns that are read besides explanation and participant."""
MAX_EXAMPLES = 5


def list_keys(keys: Sequence[Any]) -> str:
    """Format the number of keys and the first of them."""
    first = ", ".join(str(key) for key in keys[:MAX_EXAMPLES])
    return f"{len(keys):,} ({first}{', …' if len(keys) > MAX_EXAMPLES else ''})"


def verify_export(folder: Path) -> list[str]:
    """List the problems of an export in sentences; nothing if all is well.

    Checked are digests of all files; exactly n votes of n different people for each explanation, or
    which have not; own answer before explanation before ratings; votes under consents to forms that
    were shown; aggregates against a recount.
    """
    try:
        manifest = read_json(confined(folder, MANIFEST), "manifest")
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            return [f"{MANIFEST} is not of the format {FORMAT!r}."]
        problems = list(_files(folder, manifest))
        if problems:  # whoever changed a file may have changed any
            return problems
        export = _Export(folder, manifest)
        problems = list(_keys(export))
        if problems:  # nothing else can be counted
            return problems
        checks: tuple[Callable[[_Export], Iterator[str]], ...] = (
            _consents, _votes, _order, _aggregates, _people,
        )  # fmt: skip
        return [sentence for check in checks for sentence in check(export)]
    except EvidenceError as error:
        return [str(error)]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        return [f"The export is not of the form that was expected: {error!r}."]


def _files(folder: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    files = manifest["files"]
    for name, digest in sorted(files.items()):
        path = confined(folder, name)
        if not path.is_file():
            yield f"{name} is missing."
        elif sha256_of(path) != digest:
            yield f"{name} is not the file that the manifest tells of."
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()}
    for name in sorted(there - set(files) - {MANIFEST}):
        yield f"{name} is not in the manifest."
    for name in [f"{table}.parquet" for table in TABLE_NAMES]:
        if name not in files:
            yield f"{name} is not in the manifest."


@dataclass(frozen=True)
class _Export:
    """Columns of an export as numbers; texts are encoded as integers."""

    folder: Path
    manifest: Mapping[str, Any]

    _read: dict[str, dict[str, Any]] = field(default_factory=dict)

    def columns(self, table: str, *names: str) -> list[Any]:
        """Return columns as pyarrow arrays; each file is read once."""
        if table not in self._read:
            pair = ("instance", "participant") if table in PAIR_TABLES else ("participant",)
            needed = (*pair, *READ_COLUMNS.get(table, ()))
            if table == "votes":
                needed += tuple(self.manifest["questions"])
            elif table == "participants":
                needed += tuple(self.manifest["people"]["bands"])
            elif table in ("aggregates", "instances"):
                needed = ("instance", *READ_COLUMNS.get(table, ()))
                if table == "aggregates":
                    most = max(self.manifest["questions"].values(), default=0)
                    needed += tuple(f"n_{level + 1}" for level in range(most))
            path = confined(self.folder, f"{table}.parquet")
            content = read_columns(path, needed, f"table {table}")
            self._read[table] = {name: content[name].combine_chunks() for name in needed}
        return [self._read[table][name] for name in names]

    def numbers(self, table: str, *names: str) -> list[np.ndarray]:
        """Return numbers and flags; missing values are NaN."""
        return [
            column.cast("float64").to_numpy(zero_copy_only=False)
            for column in self.columns(table, *names)
        ]

    def words(self, table: str, name: str) -> np.ndarray:
        """Return texts; missing values are None."""
        return np.asarray(self.columns(table, name)[0].to_numpy(zero_copy_only=False), object)

    @cached_property
    def instances(self) -> dict[str, int]:
        """Positions of the explanations."""
        return {key: n for n, key in enumerate(self.words("instances", "instance"))}

    @cached_property
    def people(self) -> dict[str, int]:
        """Positions of the pseudonyms."""
        return {key: n for n, key in enumerate(self.words("participants", "participant"))}

    def codes(self, table: str, name: str, known: Mapping[str, int]) -> Int[np.ndarray, " rows"]:
        """Encode texts by their position among known ones: -1 is missing, -2 unknown."""
        coded = self.columns(table, name)[0].dictionary_encode()
        places = [known.get(word, -2) for word in coded.dictionary.to_pylist()]
        which = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.asarray(np.append(np.array(places, np.int64), -1)[which])

    def pairs(self, table: str) -> Int[np.ndarray, " rows"]:
        """Return one number for each pair of explanation and participant."""
        person = self.codes(table, "participant", self.people)
        instance = self.codes(table, "instance", self.instances)
        return np.asarray(instance * (len(self.people) + 1) + person)


def _keys(export: _Export) -> Iterator[str]:
    """Check that rows refer to known explanations and participants, and occur once."""
    for table in ("votes", "baselines", "boxes", "checks", "rankings", "order", "answers",
                  "comments", "consents"):  # fmt: skip
        strange = export.codes(table, "participant", export.people) == -2
        if strange.any():
            unknown = sorted(set(export.words(table, "participant")[strange]))
            yield f"People in table {table} who are not in `participants`: {list_keys(unknown)}."
    for table in ("votes", "baselines", "boxes"):
        if (export.codes(table, "instance", export.instances) < 0).any():
            yield f"Table {table} has explanations that are not in `instances`."
    for table in ("votes", "baselines"):
        pairs = export.pairs(table)
        if len(np.unique(pairs)) < len(pairs):
            yield f"Table {table} has somebody twice at one explanation."
    if not np.isin(export.pairs("boxes"), export.pairs("baselines")).all():
        yield "Boxes without a row of `baselines`."
    for question, points in export.manifest["questions"].items():
        (answers,) = export.numbers("votes", question)
        answers = answers[~np.isnan(answers)]
        if not np.isin(answers, np.arange(1, points + 1)).all():
            yield f"Answers to {question} that are not on its scale."


def _consents(export: _Export) -> Iterator[str]:
    """Check that forms have the digests that participants agreed to."""
    versions = read_json(confined(export.folder, "versions.json"), "versions")
    forms = set()
    for version in versions:
        if export.manifest["versions"].get(str(version["version"])) != version["digest"]:
            yield f"Version {version['version']} is not the one that the manifest tells of."
        for form in version["consents"]:
            if hashlib.sha256(form["shown"].encode()).hexdigest() != form["sha256"]:
                yield f"The form of version {version['version']} has another digest."
            forms.add(f"{version['version']} {form['sha256']}")
    (number,) = export.numbers("consents", "version")
    digest, who = (export.words("consents", name) for name in ("sha256", "participant"))
    digests = {}
    for at, version in enumerate(number.tolist()):
        agreed = f"{int(version)} {digest[at]}"
        digests[who[at], version] = digest[at]
        if agreed not in forms:
            yield f"{who[at]} agreed to a form that no version has."
    votes = zip(
        export.words("votes", "participant"), export.numbers("votes", "version")[0].tolist(),
        export.words("votes", "consent_sha256"), strict=True,
    )  # fmt: skip
    if any(digests.get((person, version)) != agreed for person, version, agreed in set(votes)):
        yield "Votes under consents that are not in `consents`."


def _votes(export: _Export) -> Iterator[str]:
    numbers, keys = export.manifest["votes"], np.array(list(export.instances), object)
    target = numbers["wanted_each"]
    counted = export.numbers("votes", "counted")[0] == 1
    instance = export.codes("votes", "instance", export.instances)[counted]
    having = np.bincount(instance, minlength=len(keys))
    if (having > target).any():
        yield f"More than {target} counted votes: {list_keys(keys[having > target])} explanations."
    if (having < target).any():
        yield f"Fewer than {target} counted votes: {list_keys(keys[having < target])} explanations."
    sizes = {str(n): int(many) for n, many in enumerate(np.bincount(having)) if many}
    if sizes != numbers["instances_with"]:
        yield "The manifest tells other numbers of votes than the table."
    if (counted.sum(), (~counted).sum()) != (numbers["counted"], numbers["surplus"]):
        yield "The manifest tells another number of counted or surplus votes than the table."
    seats = export.pairs("design")
    taken = export.codes("design", "participant", export.people) >= 0
    of_seat = export.codes("design", "instance", export.instances)
    voted = export.pairs("votes")[counted]
    wrong = np.bincount(of_seat, minlength=len(keys)) != target
    wrong[np.setxor1d(voted, seats[taken]) // (len(export.people) + 1)] = True
    if wrong.any() or len(np.unique(seats[taken])) < taken.sum():
        yield f"Votes and seats do not agree: {list_keys(keys[wrong])} explanations."


def _order(export: _Export) -> Iterator[str]:
    """Check own answer before explanation before ratings, for each vote."""
    moments = export.manifest["moments"]
    if moments not in get_args(Moments):
        yield "The manifest does not say how moments are told."
        return
    own = moments == "of each person"
    first, second, third, wait, look = export.numbers(
        "order", *ORDER_COLUMNS, "seconds_baseline_to_reveal", "seconds_reveal_to_vote"
    )
    revealed, voted = ~np.isnan(second), ~np.isnan(third)
    # less than half a second is 0 whole ones
    fine = ~revealed | ((first < second) & ((wait >= 0) if own else (wait > 0)))
    fine &= ~voted | ((second < third) & (look >= 0))
    names = export.words("order", "instance"), export.words("order", "participant")
    if not fine.all():
        early = [f"{names[0][i]} of {names[1][i]}" for i in np.flatnonzero(~fine)]
        yield f"Not in the order own answer, explanation, ratings: {list_keys(early)}."
    yield from _check_order_exported(export, voted, own=own)
    person = export.codes("order", "participant", export.people)
    yield from _places(np.stack([first, second, third]), person, own=own)


def _check_order_exported(
    export: _Export, voted: Bool[np.ndarray, " rows"], *, own: bool
) -> Iterator[str]:
    """Check that the order of each vote and its own answer are exported."""
    real = voted & (export.words("order", "kind") == "real")
    ordered, votes = export.pairs("order")[real], export.pairs("votes")
    names = export.words("votes", "instance"), export.words("votes", "participant")

    def pairs(where: np.ndarray) -> str:
        return list_keys([(names[0][i], names[1][i]) for i in np.flatnonzero(where)])

    missing = ~np.isin(votes, ordered)
    if missing.any():
        yield f"Votes whose order is not told: {pairs(missing)}."
        return
    without = ~np.isin(votes, export.pairs("baselines"))
    if without.any():
        yield f"Votes without an own answer before (`baselines`): {pairs(without)}."
    places = export.numbers("order", "vote_order")[0][real]
    by_pair = np.argsort(ordered)
    times = places[by_pair][np.searchsorted(ordered[by_pair], votes)]
    person = export.codes("votes", "participant", export.people) if own else np.zeros(len(votes))
    expected = _ranks(times, person)
    if (expected != export.numbers("votes", "at_order")[0]).any():
        yield "The votes' places (`at_order`) are not those of table `order`."


def _ranks(times: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return ranks from 1 by time, within each group."""
    order = np.lexsort((times, group))
    sorted_group = group[order]
    starts = np.flatnonzero(np.append(True, sorted_group[1:] != sorted_group[:-1]))
    lengths = np.diff(np.append(starts, len(order)))
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order)) - np.repeat(starts, lengths) + 1
    return ranks


def _places(places: np.ndarray, person: np.ndarray, *, own: bool) -> Iterator[str]:
    """Check that places are 1, 2, … without gaps: in the study, or for each participant."""
    group = np.tile(person if own else np.zeros_like(person), 3)
    flat = places.reshape(-1)
    known = ~np.isnan(flat)
    if (_ranks(flat[known], group[known]) != flat[known]).any():
        yield "Places of moments that do not count from 1."


def _aggregates(export: _Export) -> Iterator[str]:
    """Recount aggregates from sorted votes, by other means than the code that wrote them."""
    counted = export.numbers("votes", "counted")[0] == 1
    instance = export.codes("votes", "instance", export.instances)[counted]
    keys = np.array(list(export.instances), object)
    of_row = export.words("aggregates", "question")
    where = export.codes("aggregates", "instance", export.instances)
    wrong: set[str] = set()
    for question, points in export.manifest["questions"].items():
        (answers,) = export.numbers("votes", question)
        rows = of_row == question
        table = export.numbers("aggregates", "n", "mode", "mode_tie", "median", "mean",
                               *(f"n_{level + 1}" for level in range(points)))  # fmt: skip
        stored = np.stack(table, axis=1)[rows]
        known = ~np.isnan(answers[counted])
        expected = _recount(instance[known], answers[counted][known], len(keys), points)
        own = where[rows]
        differs = ~np.isclose(stored, expected[own], rtol=0, atol=1e-12, equal_nan=True).all(axis=1)
        wrong |= {f"{keys[i]} {question}" for i in own[differs]}
        unasked = np.setdiff1d(np.unique(instance[known]), own)
        wrong |= {f"{keys[i]} {question}" for i in unasked}
        if len(np.unique(own)) < len(own):
            wrong.add(question)
        needs = _always_asked(export, question)
        if needs and len(own) != len(keys):
            wrong |= {f"{keys[i]} {question}" for i in np.setdiff1d(np.arange(len(keys)), own)}
    if wrong or not set(of_row) <= set(export.manifest["questions"]):
        yield f"Aggregates that do not follow from the votes: {list_keys(sorted(wrong))}."


def _always_asked(export: _Export, question: str) -> bool:
    versions = read_json(confined(export.folder, "versions.json"), "versions")
    return question not in versions[-1]["settings"].get("needs", {})


def _recount(instance: np.ndarray, answers: np.ndarray, size: int, points: int) -> np.ndarray:
    """Return n, mode, tie, median, mean and counts of each explanation; NaN without votes."""
    order = np.lexsort((answers, instance))
    instance, answers = instance[order], answers[order]
    n = np.bincount(instance, minlength=size).astype(float)
    start = np.concatenate([[0], np.cumsum(n)[:-1]]).astype(np.int64)
    often = np.stack(
        [np.bincount(instance[answers == level + 1], minlength=size) for level in range(points)], 1
    ).astype(float)
    voted = n > 0
    numbers = np.full((size, 4), np.nan)
    low, high = (start + (n - 1) // 2)[voted], (start + n // 2)[voted]
    numbers[voted, 2] = (answers[low.astype(int)] + answers[high.astype(int)]) / 2
    numbers[voted, 3] = np.bincount(instance, answers, minlength=size)[voted] / n[voted]
    most = often.max(axis=1, keepdims=True)
    numbers[voted, 0] = (often == most).argmax(axis=1)[voted] + 1
    numbers[voted, 1] = ((often == most).sum(axis=1) > 1)[voted]
    return np.column_stack([n, numbers, often])


def _people(export: _Export) -> Iterator[str]:
    """Check that no participant belongs to a group of very few."""
    fewest = export.manifest["people"]["fewest_of_a_combination"]
    bands = export.manifest["people"]["bands"]
    if not bands:  # nobody was asked who they are
        return
    voted = np.sum(export.numbers("participants", "votes", "surplus_votes"), axis=0) > 0
    combinations = list(zip(*(export.words("participants", band) for band in bands), strict=True))
    many: dict[tuple[Any, ...], int] = {}
    for combination, gave in zip(combinations, voted, strict=True):
        if any(band is not None for band in combination):
            many[combination] = many.get(combination, 0) + bool(gave)  # others hide nobody
    rare = [combination for combination, n in many.items() if n < fewest]
    if rare:
        yield (
            f"Fewer than {fewest} people who voted share a combination of bands: {list_keys(rare)}."
        )
