"""Draw questions about latents from their activations: texts, marked tokens and intruders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from jaxtyping import Int

from theodolite._stats.sampling import hash_integers
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.judgment import JudgmentEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import require_ragged
from theodolite.language.judges.answer_cache import AnswerCache
from theodolite.language.judges.asking import Budget, ask_judge
from theodolite.language.judges.base import Judge, JudgeQuestion
from theodolite.language.judges.latent_texts import LatentTexts
from theodolite.language.judges.rows import judgment_evidence, match_lengths

Negatives = Literal["length", "random", "near", "matched"]
"""How texts without the latent are chosen: of equal length, any, with the most similar tokens, or
with the latent's most typical token.
"""
Wrong = Literal["within", "across"]
WINDOWS = (2, 2, 10)
"""Texts of a SAEBench question: strongest, drawn by strength, and random."""
ROUND = 5
QuestionTruth = tuple[JudgeQuestion, tuple[bool, ...]]
Rows = Int[np.ndarray, " rows"]


@dataclass(frozen=True, eq=False)
class LatentQuestions:
    """Questions with the truth of each of their texts."""

    questions: list[JudgeQuestion] = field(default_factory=list)
    active: list[tuple[bool, ...]] = field(default_factory=list)

    def answered(
        self,
        judge: Judge,
        source: LatentTexts,
        cache: AnswerCache | None = None,
        budget: Budget | None = None,
    ) -> JudgmentEvidence:
        """Return the judge's answers as evidence, with the latents' firing rates."""
        (answers,) = ask_judge(judge, self.questions, cache=cache, budget=budget)
        latents = [f"latent {n}" for n in range(len(source.evidence.latents))]
        clusters = source.evidence.samples.clusters
        evidence = judgment_evidence(
            self.questions, answers, self.active, judge=judge.name, latents=latents,
            documents=None if clusters is None else clusters.tolist(),
        )  # fmt: skip
        return replace_arrays(evidence, frequency=source.frequency)


@dataclass(frozen=True, eq=False)
class QuestionMaker:
    """Draws questions from the test half of the texts, by a key and a seed.

    A latent that is active in too few of them, or in too many, is left out.
    """

    source: LatentTexts
    explanations: Mapping[int, str] = field(default_factory=dict)
    """Explanation of each latent, written from the choosing half."""
    each: int = 10
    """Number of texts with the latent per question, and equally many without."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.each <= 50:
            raise EvidenceError("each", f"{self.each}", "1 to 50")

    def detection(self, latents: Sequence[int], negatives: Negatives = "length") -> LatentQuestions:
        """Ask in which of these texts the latent is active."""
        if negatives not in get_args(Negatives):
            known = ", ".join(get_args(Negatives))
            raise EvidenceError("negatives", repr(negatives), f"one of {known}")
        pairs = []
        for latent in latents:
            active, silent = self._rows(latent)
            with_it = self._some(active, self.each, latent)
            without = self._negatives(latent, with_it, silent, negatives)
            if len(with_it) and len(without):
                pairs.append(self._question(latent, with_it[: len(without)], without))
        return _together(pairs)

    def windows(self, latents: Sequence[int]) -> LatentQuestions:
        """Ask in SAEBench's form: strongest texts, some by strength, and ten at random."""
        pairs = []
        rows = np.flatnonzero(~self.source.choosing)
        top, weighted, free = WINDOWS
        for latent in latents:
            row, _, value = self.source.active(latent)
            best = np.zeros(len(self.source.lengths))
            np.maximum.at(best, row, np.asarray(value, float))
            own = rows[best[rows] > 0]
            if len(own) < top + weighted or len(rows) - len(own) < free:
                continue
            own = own[np.argsort(-best[own], kind="stable")]
            random = np.random.default_rng([self.seed, latent])
            rest = own[top:]
            share = best[rest] / best[rest].sum()
            by_strength = random.choice(rest, weighted, replace=False, p=share)
            others = np.setdiff1d(rows, np.concatenate([own[:top], by_strength]))
            any_kind = random.choice(others, free, replace=False)
            chosen = np.concatenate([own[:top], by_strength, any_kind])
            with_it = chosen[best[chosen] > 0]
            pairs.append(self._question(latent, with_it, chosen[best[chosen] == 0]))
        return _together(pairs)

    def fuzzing(self, latents: Sequence[int], wrong: Wrong = "within") -> LatentQuestions:
        """Ask whether the marked tokens are those on which the latent is active. Wrong marks are on
        inactive tokens of other active texts (``within``) or of inactive texts (``across``).
        """
        if wrong not in get_args(Wrong):
            raise EvidenceError("wrong", repr(wrong), "within or across")
        pairs = []
        for latent in latents:
            active, silent = self._rows(latent)
            several = self._some(active, 2 * self.each, latent)
            right = (
                several[: (len(several) + 1) // 2] if wrong == "within" else several[: self.each]
            )
            others = several[len(right) :]
            if wrong == "across" and len(right) and len(silent):
                others = match_lengths(right, silent, self.source.lengths, self.seed)
            marked = [(int(row), self._active_places(latent, row), True) for row in right]
            numbers = [len(places) for _, places, _ in marked] or [1]
            for at, row in enumerate(others):
                places = self._silent_places(latent, int(row), numbers[at % len(numbers)])
                marked += [(int(row), places, False)] if places else []
            if len({there for *_, there in marked}) == 2:
                pairs.append(self._marked(latent, marked, across=wrong == "across"))
        return _together(pairs)

    def intruder(self, latents: Sequence[int], rounds: int = 4) -> LatentQuestions:
        """Ask which of five texts of similar length is the one without the latent."""
        pairs = []
        for latent in latents:
            active, silent = self._rows(latent)
            some = self._some(active, rounds * (ROUND - 1), latent)
            for number in range(len(some) // (ROUND - 1)):
                own = some[number * (ROUND - 1) : (number + 1) * (ROUND - 1)]
                if not len(silent):
                    continue
                strange = match_lengths(own[:1], silent, self.source.lengths, self.seed + number)
                pairs.append(self._question(latent, own, strange, task="intruder"))
        return _together(pairs)

    def _rows(self, latent: int) -> tuple[Rows, Rows]:
        """Return test texts in which the latent is active, and in which it is not."""
        there = np.zeros(len(self.source.lengths), bool)
        there[self.source.active(latent)[0]] = True
        asked_of = ~self.source.choosing & (self.source.lengths > 0)
        return np.flatnonzero(there & asked_of), np.flatnonzero(~there & asked_of)

    def _some(self, rows: Rows, n: int, latent: int) -> Rows:
        luck = hash_integers(rows, self.seed + 1 + latent)
        return np.asarray(rows[np.argsort(luck, kind="stable")[:n]])

    def _negatives(self, latent: int, with_it: Rows, silent: Rows, how: Negatives) -> Rows:
        n = min(len(with_it), len(silent))
        if not n or how == "random":
            return self._some(silent, n, latent)
        if how == "length":
            own_seed = self.seed + latent
            return match_lengths(with_it[:n], silent, self.source.lengths, own_seed)
        if how == "near":
            return self._nearest(with_it, silent, n)
        typical = self._typical_token(latent)
        has = [typical in self.source.evidence.tokens[int(row)] for row in silent]
        return self._some(silent[np.array(has, bool)], n, latent)

    def _typical_token(self, latent: int) -> int:
        """Return the token on which the latent is most often active in the choosing half."""
        row, token, _ = self.source.active(latent)
        ids = require_ragged(self.source.evidence.tokens).flat[token[self.source.choosing[row]]]
        return int(np.bincount(ids).argmax()) if len(ids) else -1

    def _nearest(self, with_it: Rows, silent: Rows, n: int) -> Rows:
        """Return inactive texts whose bags of tokens are most similar by cosine."""
        tokens = self.source.evidence.tokens
        whole: dict[int, int] = {}
        for row in with_it:
            for token in tokens[int(row)].tolist():
                whole[token] = whole.get(token, 0) + 1
        like = []
        for row in silent:
            ids, counts = np.unique(tokens[int(row)], return_counts=True)
            shared = sum(whole.get(int(t), 0) * int(c) for t, c in zip(ids, counts, strict=True))
            like.append(shared / float(np.linalg.norm(counts)))
        return np.asarray(silent[np.argsort(-np.array(like), kind="stable")[:n]])

    def _active_places(self, latent: int, row: int) -> list[int]:
        rows, tokens, _ = self.source.active(latent)
        start = int(require_ragged(self.source.evidence.tokens).starts[row])
        return [int(token) - start for token in tokens[rows == row]]

    def _silent_places(self, latent: int, row: int, n: int) -> list[int]:
        """Draw ``n`` tokens on which the latent is inactive; none if there are too few."""
        there = set(self._active_places(latent, row))
        free = np.array([i for i in range(int(self.source.lengths[row])) if i not in there], int)
        luck = hash_integers(free, self.seed + 7 * latent + 13 * row)
        return free[np.argsort(luck, kind="stable")[:n]].tolist() if len(free) >= n else []

    def _question(
        self,
        latent: int,
        with_it: Rows,
        without: Rows,
        task: Literal["detection", "intruder"] = "detection",
    ) -> QuestionTruth:
        rows = np.concatenate([with_it, without])
        rows = rows[np.argsort(hash_integers(rows, self.seed + latent), kind="stable")]
        numbers = tuple(int(row) for row in rows)
        question = JudgeQuestion(
            tuple(self.source.text(row) for row in numbers),
            explanation="" if task == "intruder" else self.explanations.get(latent, ""),
            task=task, latent=latent, sequences=numbers,
        )  # fmt: skip
        return question, tuple(bool(there) for there in np.isin(rows, with_it))

    def _marked(
        self, latent: int, marked: Sequence[tuple[int, list[int], bool]], *, across: bool
    ) -> QuestionTruth:
        luck = hash_integers(np.array([row for row, *_ in marked]), self.seed + latent)
        in_order = [marked[i] for i in np.argsort(luck, kind="stable")]
        question = JudgeQuestion(
            tuple(self.source.text(row) for row, *_ in in_order),
            explanation=self.explanations.get(latent, ""),
            task="fuzzing", latent=latent, across=across,
            marks=tuple(self.source.spans(row, places) for row, places, _ in in_order),
            sequences=tuple(row for row, *_ in in_order),
        )  # fmt: skip
        return question, tuple(there for *_, there in in_order)


def _together(pairs: Sequence[QuestionTruth]) -> LatentQuestions:
    return LatentQuestions([question for question, _ in pairs], [truth for _, truth in pairs])
