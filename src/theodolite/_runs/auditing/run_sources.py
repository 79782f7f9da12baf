"""A finished run as the source of an audit: its evidence, and what its report showed."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from theodolite._runs.addresses import BUCKETS
from theodolite._runs.folder.format import PRODUCED, RUN, SHOWN
from theodolite._runs.folder.run_file import MadeRecord, RunRecord, read_produced
from theodolite._runs.folder.seal import verify
from theodolite._runs.folder.spec import RunSpec
from theodolite._storage.paths import confined
from theodolite._storage.records import read_record, write_record
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load_all, needs_of
from theodolite.evidence.subject import Claim


@dataclass(frozen=True, eq=False)
class SourceRun:
    """A run folder that was read."""

    folder: Path
    spec: RunSpec
    made_record: MadeRecord
    alone: bool = True
    """Whether nothing else is audited with it."""

    def evidence(self) -> list[list[Evidence]]:
        """All bundles of all seeds."""
        seeds = [self.folder / "evidence" / f"seed-{seed}" for seed in self.spec.seeds]
        stored = [path for path in seeds if path.is_dir()]
        if not stored:
            raise UnsafeInputError(f"run {self.folder.name!r}", "no evidence of its seeds", "some")
        seeds_of_bundles, needs = zip(*map(load_all, stored), strict=True)
        if not seeds_of_bundles[0]:
            raise UnsafeInputError(f"run {self.folder.name!r}", "; ".join(needs[0]), "its package")
        return list(seeds_of_bundles)

    def addresses(self) -> tuple[str, ...]:
        """Where its evidence in pieces lies. Buckets are asked with your keys, so never unasked."""
        for address in self.made_record.stored:
            if address.startswith(BUCKETS):
                raise EvidenceError(
                    f"run {self.folder.name!r}", f"evidence at {address}", "evidence at hand",
                    "Give that address instead of the run, if you trust it.",
                )  # fmt: skip
        return tuple(self.made_record.stored)

    @property
    def claim(self) -> Claim:
        """Return what its explanation says."""
        explained = self.made_record.explained
        samples = explained.counts[0][0] if explained.counts else "samples"
        return Claim(explained.claim, explained.noun, samples=samples)

    def left_out(self) -> list[str]:
        """What the run has, and this audit does not look at."""
        places = [self.folder / "evidence" / f"seed-{seed}" for seed in self.seeds()]
        needs = dict.fromkeys(need for place in places for need in needs_of(place))
        packages = [f"{need}. It is left out." for need in needs]
        compared = self.folder / "compared"
        n = sum(path.is_dir() for path in compared.iterdir()) if compared.is_dir() else 0
        if not n:
            return packages
        return [
            *packages,
            f"The run compares {n} further models. This audit is of the one of its verdicts.",
        ]

    def seeds(self) -> list[int]:
        """Those seeds whose evidence is there."""
        root = self.folder / "evidence"
        return [seed for seed in self.spec.seeds if (root / f"seed-{seed}").is_dir()]

    def carry_over(self, out: Path) -> None:
        """Images, cards and tables of the run, into the folder of its audit."""
        target = read_produced(out)
        source = self.made_record
        files = [e.file for e in (*source.examples, *source.conflict_examples)]
        files += [file for card in source.cards for file in card.files]
        files += [file for card in source.concept_cards for file in card.files]
        for file in dict.fromkeys(files):
            if file.partition("/")[0] not in SHOWN:
                raise UnsafeInputError("image", repr(file), f"a file in one of {', '.join(SHOWN)}")
            _copy(confined(self.folder, file), confined(out, file))
        for table in sorted((self.folder / "tables").glob("*.parquet")):
            _copy(confined(self.folder, f"tables/{table.name}"), out / "tables" / table.name)
        write_record(out / PRODUCED, self.with_cards(target))

    def with_cards(self, record: MadeRecord) -> MadeRecord:
        """The record of an audit, with the images and cards of the run."""
        names = ("examples", "conflict_examples", "cards", "concept_cards")
        return record.model_copy(update={n: getattr(self.made_record, n) for n in names})


def read_run(folder: Path) -> SourceRun:
    """Read a finished run, whose bytes are still those that were sealed."""
    verify(folder)
    spec = read_record(folder / RUN, RunRecord).spec
    return SourceRun(folder, spec, read_produced(folder))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
