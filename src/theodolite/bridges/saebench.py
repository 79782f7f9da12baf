"""Results of SAEBench: read, and our numbers written beside them.

A file of results has means and nothing per sequence, so no interval can be made of it. Of
AutoInterp the answers themselves are in the file (``eval_result_unstructured``), though not the
texts: they become evidence, in which every window is a sequence of its own.
"""

import math
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.text import MEBIBYTE, read_json, write_json
from theodolite.bridges import _foreign_json as foreign
from theodolite.errors import RefusedInput, printable
from theodolite.evidence.axes import Judges, Latents
from theodolite.evidence.kinds.judgement import JudgementEvidence
from theodolite.results import Score

OURS = "theodolite"
MOST_WINDOWS = 1000
DOUBTED = ("tpp", "scr")
"""Of these, arXiv 2605.18229 finds that they should not be used."""


@dataclass(frozen=True)
class SaeBenchResult:
    """What a file of results says, and what it cannot say."""

    evaluation: str
    """Its ``eval_type_id``."""
    sae: str
    """The identity in SAELens."""
    metrics: Mapping[str, float]
    """By ``category.metric``; NaN where the file has none."""
    notes: tuple[str, ...]


def read_saebench(path: Path | str) -> SaeBenchResult:
    """The means of a file of results."""
    content, where = _content(path)
    evaluation = foreign.text(foreign.field(content, "eval_type_id", where), where, 200)
    categories = foreign.mapping(foreign.field(content, "eval_result_metrics", where), where)
    metrics = {
        f"{category}.{name}": math.nan if value is None else foreign.number(value, where)
        for category, group in categories.items()
        for name, value in foreign.mapping(group, where).items()
    }
    notes = ["only means are in the file: no interval can be made of them, and no null"]
    if evaluation in DOUBTED:
        notes.append(f"{evaluation}: found unreliable (arXiv 2605.18229); we do not compute it")
    sae = content.get("sae_lens_id")
    return SaeBenchResult(
        evaluation, "" if sae is None else foreign.text(sae, where, 1000), metrics, tuple(notes)
    )


def autointerp_judgements(path: Path | str, *, judge: str = "SAEBench") -> JudgementEvidence:
    """The answers of AutoInterp: of each latent, which windows the judge named.

    A score of them by accuracy is the published one; its floor is the judge who says no to all.
    """
    content, where = _content(path)
    if content.get("eval_type_id") != "autointerp":
        raise RefusedInput(
            where, printable(content.get("eval_type_id"), 60), "eval_type_id autointerp"
        )
    config = foreign.mapping(foreign.field(content, "eval_config", where), where)
    parts = ("n_top_ex_for_scoring", "n_random_ex_for_scoring", "n_iw_sampled_ex_for_scoring")
    n = sum(foreign.whole(foreign.field(config, part, where), where, 0, 500) for part in parts)
    by_latent = foreign.mapping(foreign.field(content, "eval_result_unstructured", where), where)
    if not by_latent or not 0 < n <= MOST_WINDOWS:
        raise RefusedInput(where, f"{len(by_latent)} latents of {n} windows", "some of each")
    active, answer = [], []
    for key, value in by_latent.items():
        entry = foreign.mapping(value, where)
        true = _windows(foreign.field(entry, "correct seqs", where), n, f"{where}, latent {key}")
        named = foreign.field(entry, "predictions", where)
        active.append([number in true for number in range(1, n + 1)])
        if named is None:
            answer.append([math.nan] * n)
        else:
            chosen = _windows(named, n, f"{where}, latent {key}", outside=True)
            answer.append([float(number in chosen) for number in range(1, n + 1)])
    rows = np.arange(len(active) * n)
    return JudgementEvidence(
        latent=rows // n, sequence=rows, active=np.array(active).ravel(),
        answer=np.array(answer, float).ravel(), judge=np.zeros(len(rows), int),
        judges=Judges((judge,)),
        latents=Latents(tuple(f"latent {foreign.whole(key, where)}" for key in by_latent)),
    )  # fmt: skip


def _windows(value: Any, n: int, where: str, *, outside: bool = False) -> set[int]:
    """Numbers of windows from 1; a judge may have named one that there is not."""
    high = 1 << 40 if outside else n
    low = 0 if outside else 1
    return {foreign.whole(entry, where, low, high) for entry in foreign.items(value, where, 10_000)}


def _content(path: Path | str) -> tuple[Mapping[str, Any], str]:
    where = f"results of SAEBench {Path(path).name!r}"
    content = read_json(Path(path), "results of SAEBench", 64 * MEBIBYTE)
    return foreign.mapping(content, where), where


def write_saebench(
    path: Path | str,
    scores: Sequence[Score],
    *,
    sae_lens_id: str | None = None,
    sae_lens_release_id: str | None = None,
    eval_id: str | None = None,
    epoch_millis: int | None = None,
) -> None:
    """Our scores in the form of a file of results, as an evaluation of our own.

    Each has its interval and the best null beside it, as further metrics of its category.
    """
    metrics: dict[str, dict[str, float | None]] = {}
    for score in scores:
        group = metrics.setdefault(score.question, {})
        choice = "".join(f"_{v}" for v in (score.options.get("by"),) if isinstance(v, str))
        name, interval, null = f"{score.metric}{choice}", score.interval, score.null
        group[name] = score.value
        group[f"{name}_low"] = None if interval is None else interval.low
        group[f"{name}_high"] = None if interval is None else interval.high
        group[f"{name}_null"] = None if null is None else null.value
    details = [
        {"metric": s.metric, "n": s.n, "n_undefined": s.n_undefined, "n_of": s.n_of} for s in scores
    ]
    write_json(
        Path(path),
        {
            "eval_type_id": OURS, "eval_config": {}, "eval_id": eval_id or str(uuid.uuid4()),
            "datetime_epoch_millis": int(time.time() * 1000)
            if epoch_millis is None
            else epoch_millis,
            "eval_result_metrics": metrics, "eval_result_details": details,
            "sae_bench_commit_hash": "", "sae_lens_id": sae_lens_id,
            "sae_lens_release_id": sae_lens_release_id, "sae_lens_version": None,
            "sae_cfg_dict": None, "eval_result_unstructured": None,
        },
    )  # fmt: skip
