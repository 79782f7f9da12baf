"""Answers of judges about each latent: a score for the list, and the answers on a latent's page.

Used by :mod:`.pages`.
"""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from theodolite.evidence.kinds.judgment import JudgmentEvidence
from theodolite.evidence.shards import Shards
from theodolite.language.dashboard.material import Judged
from theodolite.language.dashboard.nulls import FeatureNull, FeatureScore

MAX_ANSWERS_PER_LATENT = 20
"""Largest number of answers shown on a latent's page."""


def group_answers(
    judgments: JudgmentEvidence, shards: Shards
) -> tuple[dict[int, list[Judged]], Int[np.ndarray, "answers 2"]]:
    """Return answers about each latent's own explanation, and the (latent, row) pairs of the
    evidence that they refer to. Answers about other texts are left out.
    """
    index = np.concatenate([np.asarray(samples.index) for samples, _ in shards.samples()])
    order = np.argsort(index, kind="stable")
    own = judgments.is_task("detection") & judgments.is_own()
    answers: dict[int, list[Judged]] = defaultdict(list)
    latents = len(shards.first().latents)  # type: ignore[attr-defined]
    for row in np.flatnonzero(own).tolist():
        latent, sequence = int(judgments.latent[row]), int(judgments.sequence[row])
        place = min(int(np.searchsorted(index[order], sequence)), len(index) - 1)
        if latent >= latents or index[order[place]] != sequence:
            continue
        if len(answers[latent]) < MAX_ANSWERS_PER_LATENT:
            judge = (
                "" if judgments.judge is None else judgments.judges.names[int(judgments.judge[row])]
            )
            answers[latent].append(
                Judged(place, bool(judgments.active[row]), float(judgments.answer[row]), judge)
            )
    return dict(answers), _list_pairs(answers)


def _list_pairs(answers: Mapping[int, list[Judged]]) -> Int[np.ndarray, "answers 2"]:
    pairs = [(latent, each.sequence) for latent in sorted(answers) for each in answers[latent]]
    return np.array(pairs, np.int64).reshape(-1, 2)


def compute_judge_score(judgments: JudgmentEvidence, latents: int) -> FeatureScore:
    """Return each latent's balanced accuracy of answers, with two nulls: another latent's
    explanation and a constant answer.
    """
    own = compute_balanced_accuracy(judgments, judgments.is_own(), latents)
    other = compute_balanced_accuracy(judgments, ~judgments.is_own(), latents)
    nulls = [
        FeatureNull("always the same answer", np.where(np.isnan(own), np.nan, 0.5), float("nan"),
                    "a judge who does not look gets half")
    ]  # fmt: skip
    if not np.isnan(other).all():
        means = "the same judge, shown the explanation of another feature"
        nulls.insert(0, FeatureNull("another feature's explanation", other, float("nan"), means))
    says = (
        "how often a judge who sees the explanation and a text is right about whether the feature "
        "is active in it, the mean of texts where it is and texts where it is not"
    )
    return FeatureScore("judges are right", own, nulls, says)


def compute_balanced_accuracy(
    judgments: JudgmentEvidence, rows: np.ndarray, latents: int
) -> Float[np.ndarray, " latents"]:
    """Return the balanced accuracy per latent; NaN without both kinds of texts."""
    answer = np.asarray(judgments.answer, float)
    readable = rows & judgments.is_task("detection") & ~np.isnan(answer)
    latent, active = np.asarray(judgments.latent)[readable], np.asarray(judgments.active)[readable]
    right = (answer[readable] > 0.5) == active
    sides = []
    for side in (True, False):
        n = np.bincount(latent[active == side], minlength=latents)[:latents]
        hits = np.bincount(latent[(active == side) & right], minlength=latents)[:latents]
        sides.append(np.divide(hits, n, out=np.full(latents, np.nan), where=n > 0))
    return np.asarray((sides[0] + sides[1]) / 2)
