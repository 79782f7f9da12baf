"""From a finished run of a protocol to answers that can be kept."""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from theodolite._runs.engine.checkpoints import to_canonical_json
from theodolite._runs.folder.checksums import MANIFEST, verify_checksums
from theodolite._runs.folder.run_records import ManifestRecord, ProducedRecord, RunRecord
from theodolite._runs.folder.spec import read_spec
from theodolite._storage.paths import sha256_of
from theodolite._storage.records import describe_first_error, read_record
from theodolite._storage.text import read_json, read_yaml
from theodolite._verdicts.scores_file import ComparedFile, ScoreRecord, ScoresFile
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.claims.answers.acceptance import own_words_answers, variant_answers
from theodolite_reproductions.claims.answers.alignment import alignment_answers
from theodolite_reproductions.claims.answers.alignment_run import (
    alignment_run_answers,
    examples_answers,
)
from theodolite_reproductions.claims.answers.bottleneck_scores import COMPARED
from theodolite_reproductions.claims.answers.detection import detection_answers
from theodolite_reproductions.claims.answers.detection_options import (
    facade_answers,
    lite_answers,
    option_answers,
)
from theodolite_reproductions.claims.answers.leakage import (
    embedding_answers,
    leakage_answers,
    related_answers,
    task_answers,
)
from theodolite_reproductions.claims.answers.leakage_images import (
    cub_answers,
    dsprites_answers,
    ham10k_answers,
    shapes3d_answers,
)
from theodolite_reproductions.claims.answers.leakage_references import reference_answers
from theodolite_reproductions.claims.answers.surrogate_outputs import (
    attribute_answers,
    regression_answers,
)
from theodolite_reproductions.claims.answers.surrogates import (
    cifar_answers,
    decoder_answers,
    species_answers,
)
from theodolite_reproductions.claims.answers.votes import vote_answers
from theodolite_reproductions.claims.ledger import PAGES, ledger
from theodolite_reproductions.claims.results import (
    PRINTED,
    EntryAnswer,
    OptionMove,
    ResultFile,
    stand_ins,
)
from theodolite_reproductions.sweeps.result import SweepRecord
from theodolite_reproductions.sweeps.spec import read_sweep

Answers = tuple[list[EntryAnswer], list[OptionMove]]
OF_RUNS: dict[str, Callable[[Path], Answers]] = {
    "alignment_examples": examples_answers,
    "alignment_studies": alignment_run_answers,
    "accepted_pasta": vote_answers,
    "detection_pets_monumai_camvid": detection_answers,
    "leakage_3dshapes": shapes3d_answers,
    "leakage_cub": cub_answers,
    "leakage_dsprites": dsprites_answers,
    "leakage_ham10k_concepts": ham10k_answers,
    "leakage_references": reference_answers,
    "faithfulness_attributes": attribute_answers,
    "faithfulness_cifar": cifar_answers,
    "faithfulness_cub": species_answers,
    "faithfulness_decoder": decoder_answers,
    "faithfulness_regression": regression_answers,
    "leakage_tabulartoy": leakage_answers,
    "leakage_tabulartoy_embeddings": embedding_answers,
    "leakage_tabulartoy_related": related_answers,
    "leakage_tabulartoy_tasks": task_answers,
    "accepted_own_words": own_words_answers,
    "accepted_text_variants": variant_answers,
    "detection_options": option_answers,
    "detection_monumai_lite0": facade_answers,
    **{f"detection_lite{size}_pets": partial(lite_answers, size=size) for size in (1, 2)},
}
OF_SWEEPS: dict[str, Callable[[SweepRecord], Answers]] = {
    "alignment_concepts": alignment_answers,
    "alignment_options": alignment_answers,
}
SWEEP, SCORES = "sweep.json", "scores.json"
OCCASION = ("run.json", "progress.json", "report.html")
PRODUCED, OCCASION_KEYS = "produced.json", ("seconds_scoring", "stored", "pieces")


def result_of(folder: Path, protocol: Path) -> ResultFile:
    """Answers of a run folder or of a sweep, if it is the whole protocol and nothing else.

    Args:
        folder: A sealed run folder, or the folder of a sweep.
        protocol: The file that was run. A shortened form of it is refused.
    """
    if (folder / SWEEP).is_file():
        return _checked(_of_sweep(folder, protocol))
    return _checked(_of_run(folder, protocol))


def answered_protocols() -> tuple[str, ...]:
    """Protocols and sweeps whose runs can be kept, and what needs no run."""
    return (*OF_RUNS, *OF_SWEEPS, PRINTED)


def check_answered(protocol: Path) -> None:
    """Refuse a protocol whose run answers no entry, before it is run."""
    content = read_yaml(protocol, "protocol")
    _extractor({**OF_RUNS, **OF_SWEEPS}, str(content.get("name")))


def _of_run(folder: Path, protocol: Path) -> ResultFile:
    verify_checksums(folder)
    spec = read_spec(protocol)
    record = read_record(folder / "run.json", RunRecord)
    if record.spec != spec:
        raise UnsafeInputError(
            f"run {folder.name!r}", f"a run of other settings than {protocol.name}",
            "the whole protocol", "Results of shortened or changed protocols are not kept.",
        )  # fmt: skip
    extract = _extractor(OF_RUNS, spec.name)
    scores = read_record(folder / SCORES, ScoresFile)
    answers, moves = extract(folder)
    return ResultFile(
        protocol=spec.name, files={protocol.name: sha256_of(protocol)},
        metrics={score.metric: score.version for score in (*scores.scores, *_compared(folder))},
        run=computed_digest(folder), code=record.code, stand_in=stand_ins()[spec.name],
        answers=tuple(answers), moves=tuple(moves),
    )  # fmt: skip


def computed_digest(folder: Path) -> str:
    """Digest of all that a run computed, so that a second run has the same.

    Left out is what tells of the occasion: when, where and how long it ran, and the page that says
    so.
    """
    files = read_record(folder / MANIFEST, ManifestRecord).files
    computed: dict[str, Any] = {name: file for name, file in files.items() if name not in OCCASION}
    produced = read_record(folder / PRODUCED, ProducedRecord)
    computed[PRODUCED] = produced.model_dump(mode="json", exclude=set(OCCASION_KEYS))
    return hashlib.sha256(to_canonical_json(computed).encode()).hexdigest()


def _compared(folder: Path) -> list[ScoreRecord]:
    """Scores of the other models, in runs that have some."""
    path = folder / COMPARED
    models = read_record(path, ComparedFile).models if path.is_file() else []
    return [score for model in models for score in model.scores]


def _of_sweep(folder: Path, protocol: Path) -> ResultFile:
    sweep, _ = read_sweep(protocol)
    try:
        record = SweepRecord.model_validate(read_json(folder / SWEEP, "sweep"))
    except ValidationError as error:
        raise UnsafeInputError(
            f"sweep {folder.name!r}", describe_first_error(error), "a sweep"
        ) from error
    if record.sweep != sweep:
        raise UnsafeInputError(
            f"sweep {folder.name!r}", "other settings", f"all of {protocol.name}"
        )
    extract = _extractor(OF_SWEEPS, sweep.name)
    answers, moves = extract(record)
    files = {path.name: sha256_of(path) for path in (protocol, protocol.parent / sweep.protocol)}
    return ResultFile(
        protocol=sweep.name, files=files, metrics=record.metrics, run=sha256_of(folder / SWEEP),
        code=record.code, stand_in=stand_ins()[sweep.name], answers=tuple(answers),
        moves=tuple(moves),
    )  # fmt: skip


def _extractor(known: dict[str, Callable[..., Answers]], name: str) -> Callable[..., Answers]:
    if name not in known:
        needed = f"one of {', '.join(answered_protocols())}"
        raise UnsafeInputError("protocol", f"{name!r}, whose run answers no entry", needed)
    return known[name]


def _checked(result: ResultFile) -> ResultFile:
    """Answers are to entries that exist; one cell of each entry is nearest to the paper."""
    for answer in result.answers:
        ledger().entry(answer.entry)
    for move in result.moves:
        if ledger().entry(move.option).kind != "option":
            raise UnsafeInputError("moves", f"{move.option}", f"an option of {', '.join(PAGES)}")
    return result.sealed()
