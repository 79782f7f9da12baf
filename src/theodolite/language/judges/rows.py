"""Convert questions and answers to evidence rows, and match texts by length."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from theodolite._stats.sampling import hash_integers
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Judges, Latents, Raters, Samples, Tasks
from theodolite.evidence.kinds.judgment import TASKS, JudgmentEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.language.judges.base import JudgeAnswer, JudgeQuestion


def judgment_evidence(
    questions: Sequence[JudgeQuestion],
    answers: Sequence[JudgeAnswer],
    active: Sequence[Sequence[bool]],
    *,
    judge: str = "judge",
    latents: Sequence[str] = (),
    documents: Sequence[int] | None = None,
) -> JudgmentEvidence:
    """Return a row for each text of each question, and one for each intruder round.

    Args:
        questions: With the numbers of their texts (``sequences``).
        answers: In the same order.
        active: Of each question, what is true of each of its texts.
        judge: Who answered.
        latents: Their names, by number.
        documents: By number of a sequence, the document that it was cut from.
    """
    rows: list[tuple[int, int, bool, float, int, int, int, bool]] = []
    for question, answer, truth in zip(questions, answers, active, strict=True):
        if not len(question.texts) == len(truth) == len(answer.values) == len(question.sequences):
            raise EvidenceError(
                "questions", "a question whose texts, truths, answers or numbers differ in number",
                "of each as many as texts",
            )  # fmt: skip
        rows += _rows(question, answer, truth)
    if not rows:
        raise EvidenceError("questions", "none", "at least one")
    latent, sequence, there, value, task, explained, texts, used = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    clusters = None if documents is None else np.asarray(documents, np.int64)[sequence]
    return JudgmentEvidence(
        latent=latent, sequence=sequence, active=there, answer=value.astype(float), task=task,
        tasks=Tasks(TASKS), explanation=explained, texts=texts,
        written_from=used if all(question.written_from for question in questions) else None,
        judge=np.zeros(len(rows), int), judges=Judges((judge,)), latents=Latents(tuple(latents)),
        samples=Samples(np.arange(len(rows)), clusters=clusters),
    )  # fmt: skip


def _rows(
    question: JudgeQuestion, answer: JudgeAnswer, truth: Sequence[bool]
) -> list[tuple[int, int, bool, float, int, int, int, bool]]:
    explained = question.latent if question.explained is None else question.explained
    n = len(question.texts)
    if question.task == "intruder":
        outside = [number for number, there in enumerate(truth) if not there]
        if len(outside) != 1:
            raise EvidenceError("a round of intruders", f"{len(outside)} without the latent", "1")
        at = outside[0]
        task = TASKS.index("intruder")
        return [
            (question.latent, question.sequences[at], False, answer.values[at], task,
             question.latent, n, False)
        ]  # fmt: skip
    own = question.written_from or (False,) * n
    name = "fuzzing across" if question.task == "fuzzing" and question.across else question.task
    return [
        (question.latent, sequence, bool(there), value, TASKS.index(name), explained, n, bool(used))
        for sequence, there, value, used in zip(
            question.sequences, truth, answer.values, own, strict=True
        )
    ]


def match_lengths(
    positives: Int[np.ndarray, " n"],
    negatives: Int[np.ndarray, " m"],
    lengths: Int[np.ndarray, " sequences"],
    seed: int = 0,
) -> Int[np.ndarray, " n"]:
    """Match each active sequence with an inactive one of the same or nearest length; none is used
    twice while others remain.

    >>> lengths = np.array([9, 4, 4, 9, 5])
    >>> match_lengths(np.array([0, 1]), np.array([2, 3, 4]), lengths).tolist()
    [3, 2]
    """
    positives, negatives = np.asarray(positives), np.asarray(negatives)
    if not len(negatives):
        raise EvidenceError("negatives", "none", "sequences in which the latent is not active")
    lengths, luck = np.asarray(lengths), hash_integers(negatives, seed)
    times = np.zeros(len(negatives), np.int64)
    chosen = np.zeros(len(positives), np.int64)
    for place in np.argsort(hash_integers(positives, seed), kind="stable"):
        away = np.abs(lengths[negatives] - lengths[positives[place]])
        best = np.lexsort((luck, away, times))[0]
        chosen[place], times[best] = negatives[best], times[best] + 1
    return chosen


def judge_and_people(evidence: JudgmentEvidence, judge: str) -> RatingEvidence:
    """Return the answers as ratings: people's as ratings, this judge's as predictions.

    A row is a question that several were asked, the same latent, sequence and task. Scores of
    agreement (``judge_agreement``, ``krippendorff_alpha``) take it.
    """
    names = evidence.judges.names
    if evidence.judge is None or judge not in names:
        raise EvidenceError("judge_and_people", f"no judge {judge!r}", f"one of {list(names)}")
    task = np.zeros(len(evidence), int) if evidence.task is None else np.asarray(evidence.task)
    columns = [task, np.asarray(evidence.latent), evidence.explained_latent(), evidence.sequence]
    question, first, row = np.unique(
        np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True
    )
    row, who = np.asarray(row).reshape(-1), np.asarray(evidence.judge)
    if len(np.unique(row * len(names) + who)) < len(row):
        raise EvidenceError("judge_and_people", "a question that a judge answered twice", "once")
    answer = np.asarray(evidence.answer, float)
    votes = np.full((len(question), len(names)), np.nan)
    votes[row, who] = np.where(np.isnan(answer), np.nan, answer > 0.5)
    own, clusters = names.index(judge), evidence.samples.clusters
    return RatingEvidence(
        ratings=np.delete(votes, own, axis=1), scale=np.array([0.0, 1.0]), predicted=votes[:, own],
        raters=Raters(tuple(name for name in names if name != judge)),
        samples=Samples(
            np.arange(len(question)), clusters=None if clusters is None else clusters[first]
        ),
    )  # fmt: skip
