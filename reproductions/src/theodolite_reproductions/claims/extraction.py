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
from theodolite._storage.text import read_json
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
from theodolite_reproductions.claims.answers.detection_options import lite_answers, option_answers
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
from theodolite_reproductions.claims.results import PRINTED, EntryAnswer, OptionMove, ResultFile
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
    **{f"detection_lite{size}_pets": partial(lite_answers, size=size) for size in (1, 2)},
}
OF_SWEEPS: dict[str, Callable[[SweepRecord], Answers]] = {
    "alignment_concepts": alignment_answers,
    "alignment_options": alignment_answers,
}
AS_PRINTED = (
    "as in the paper: made by formula, MLP 7-64-64-3, five folds; reference heads of 20 epochs"
)
DIFFERS = {
    "accepted_pasta": "the published votes; techniques named and scored by tables of one's own",
    "detection_pets_monumai_camvid": "EfficientNet-lite0 on ImageNet, frozen; 3,093 images of "
    "pets, facades and streets, 70 concepts, 1,280 units",
    "faithfulness_attributes": "EfficientNet-lite0 on ImageNet, frozen; a ridge layer for CUB's "
    "112 attributes of classes, 14 of them explained; 400 training and 200 test images, two "
    "seeds",
    "faithfulness_cifar": "ResNet-20 and its own last layer, 64 dimensions; CIFAR-10, 2,000 "
    "training and 2,000 test images, methods with one seed, the check with three; segments of "
    "HU-MCD are superpixels",
    "faithfulness_cub": "EfficientNet-lite0 on ImageNet, frozen, and a linear layer for 25 species "
    "of CUB, 1,280 dimensions; methods with two seeds, the check with four; the autoencoder on "
    "pooled features, no HU-MCD",
    "faithfulness_decoder": "ResNet-20 and its own last layer; CIFAR-10, 2,000 training and 2,000 "
    "test images, one seed; the decoder is trained further for two epochs a set",
    "faithfulness_regression": "EfficientNet-lite0 on ImageNet, frozen, and a ridge layer for the "
    "log area of a pet's head, in standard deviations; 888 images, five seeds",
    "leakage_tabulartoy": AS_PRINTED,
    "leakage_tabulartoy_embeddings": AS_PRINTED,
    "leakage_tabulartoy_related": AS_PRINTED,
    "leakage_tabulartoy_tasks": f"{AS_PRINTED}; parity in place of the task with a product, which "
    "a linear head solves",
    "alignment_examples": "EfficientNet-lite0 on ImageNet, frozen; CUB with attributes of classes; "
    "trained on four fifths of the training images",
    "alignment_studies": "EfficientNet-lite0 on ImageNet, frozen; CUB with attributes of classes, "
    "three seeds, maps of 1,200 test images; a part is a disc of 1/12 of the bird's box",
    "leakage_3dshapes": "the numbers that make the images, with noise, and an MLP, in place of "
    "images and a ResNet-18; 2,000 samples, three folds, no OIS",
    "leakage_ham10k_concepts": "true concepts with noise and an MLP, in place of images and a "
    "ViT-B/16; 3,445 images, two folds, no OIS",
    "leakage_cub": "linear layers on features of a frozen EfficientNet-lite0; four weights of the "
    "concepts, two folds, no OIS",
    "leakage_dsprites": "the numbers that make the images and an MLP, in place of images and a "
    "ResNet-18; 2,000 samples, no OIS",
    "leakage_references": "concepts and labels only, no network: TabularToy, dSprites and 3dshapes "
    "made by formula, CUB with 22 concepts of our choice where it is incomplete, HAM10000 with "
    "3,445 images",
    "alignment_concepts": "EfficientNet-lite0 on ImageNet, frozen; CUB with attributes of classes",
    **{
        f"detection_lite{size}_pets": f"EfficientNet-lite{size} on ImageNet, frozen; 888 images "
        "of pets, the first 256 units"
        for size in (1, 2)
    },
    "detection_options": "EfficientNet-lite0 on ImageNet, frozen; 888 images of pets, the first "
    "256 units; the network's own accuracy on 24 breeds that are classes of ImageNet",
    "accepted_own_words": "2,500 explanations of a language model, accepted or not by three "
    "people, beside what others wrote of the same question; ties on ratings of words, 1 to 7",
    "accepted_text_variants": "12,455 explanations in words with three votes, yes or no; MiniLM in "
    "place of CLIP, 60 epochs",
    "alignment_options": "EfficientNet-lite0 on ImageNet, frozen; CUB with attributes of classes, "
    "location on 1,200 test images",
}
"""What took the place of the paper's data and network."""
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
        run=computed_digest(folder), code=record.code, differs=DIFFERS[spec.name],
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
        code=record.code, differs=DIFFERS[sweep.name], answers=tuple(answers), moves=tuple(moves),
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
