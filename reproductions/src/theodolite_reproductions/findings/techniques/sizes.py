"""What was explained, and who voted: accuracies, techniques by data set, people by group."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.evidence.technique_columns import EXPLANATIONS, PEOPLE, VOTES, Tables
from theodolite_reproductions.findings.techniques.record import TechniqueRow, row_from
from theodolite_reproductions.unit_resamples import UnitResamples

ALL = "all"


def accuracy_rows(tables: Tables, resamples: int, seed: int) -> Iterator[TechniqueRow]:
    """Fig. 6: of the images whose class a network was asked for, how many it gets right.

    By network and data set; images are resampled. Explanations without a label or without a
    prediction are left out. A class under another name counts as wrong.
    """
    explained = _voted(tables)
    right: dict[tuple[str, str], dict[str, bool]] = {}
    for network, image, data_set, label, predicted in zip(
        *(_column(explained, name)
          for name in ("network", "image", "data_set", "label", "predicted")),
        strict=True,
    ):  # fmt: skip
        if label and predicted:
            for name in (ALL, data_set):
                same = predicted.casefold() == label.casefold()
                right.setdefault((network, name), {})[image] = same
    for (network, data_set), images in sorted(right.items()):
        values = np.array(list(images.values()), float)
        redraws = UnitResamples.draw_within_groups(
            np.zeros(len(values), int), "images", resamples, seed
        )
        names = {"network": network, "data_set": data_set}
        yield row_from(names, redraws.mean(values), redraws, len(values), len(values))


def size_rows(tables: Tables) -> Iterator[TechniqueRow]:
    """Fig. 7: how many techniques were applied to each data set, and methods to each network."""
    explained = _voted(tables)
    for kind, of in (("data_set", "technique"), ("network", "method")):
        pairs = list(zip(_column(explained, kind), _column(explained, of), strict=True))
        times = Counter(own for own, _ in pairs)
        for name, n in sorted(times.items()):
            different = len({other for own, other in pairs if own == name})
            yield TechniqueRow(names={kind: name, "of": of}, value=different, n=n)


def people_rows(tables: Tables) -> Iterator[TechniqueRow]:
    """Fig. 8: how many people there are in each group of age, sex or whatever was asked."""
    people = tables.get(PEOPLE, {})
    for band in (name for name in people if name not in ("person", "source")):
        for group, n in sorted(Counter(_column(people, band)).items()):
            yield TechniqueRow(names={"band": band, "group": group or "not said"}, value=n, n=n)


def _voted(tables: Tables) -> Mapping[str, Sequence[Any]]:
    """Explanations that somebody voted on."""
    explained, voted = tables[EXPLANATIONS], set(tables[VOTES]["explanation"])
    rows = [row for row, name in enumerate(explained["explanation"]) if name in voted]
    return {name: [column[row] for row in rows] for name, column in explained.items()}


def _column(table: Mapping[str, Sequence[Any]], name: str) -> list[str]:
    return ["" if value is None else str(value) for value in table[name]]
