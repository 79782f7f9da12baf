"""Which contexts of a feature are shown, and which features beat what: held against plain loops."""

import numpy as np
import pytest

from support.evidence.feature_texts import drawn_codes, evil_judgments
from theodolite.errors import EvidenceError
from theodolite.evidence import shards as cut
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.shards import InMemoryShards
from theodolite.language.dashboard import windows as window_sizes
from theodolite.language.dashboard.judge_responses import compute_balanced_accuracy
from theodolite.language.dashboard.nulls import (
    CANNOT_TELL,
    NO,
    YES,
    FeatureNull,
    FeatureScore,
    compute_bars,
    compute_bars_by_rate,
    count_wins,
)
from theodolite.language.dashboard.peaks import STRETCH, find_peaks
from theodolite.language.dashboard.windows import (
    FULL_SCALE,
    choose_contexts,
    read_windows,
    split_into_batches,
)

LATENTS = 12


def codes(lengths: list[int], seed: int = 0) -> TokenEvidence:
    return drawn_codes(np.array(lengths), LATENTS, 3, 9, seed)


def plain_peaks(evidence: TokenEvidence) -> dict[int, list[tuple[float, int, int]]]:
    """By latent: minus the value, the text and the place of the strongest token of a stretch."""
    best: dict[tuple[int, int, int], tuple[float, int, int]] = {}
    codes_, values = evidence.latent, evidence.value
    for row in range(len(evidence)):
        for at, (own, own_values) in enumerate(
            zip(_rows(codes_[row]), _rows(values[row]), strict=True)
        ):
            for latent, value in zip(own, own_values, strict=True):
                key = (int(latent), row, at // STRETCH)
                best[key] = min(best.get(key, (0.0, row, at)), (-float(value), row, at))
    peaks: dict[int, list[tuple[float, int, int]]] = {n: [] for n in range(LATENTS)}
    for (latent, _, _), peak in best.items():
        peaks[latent].append(peak)
    return {latent: sorted(own) for latent, own in peaks.items()}


def _rows(ragged: object) -> list[np.ndarray]:
    return [ragged[i] for i in range(len(ragged))]  # type: ignore[index, arg-type]


def test_the_strongest_places_are_those_of_plain_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = codes([5, 1, 300, 0, 7, 2, 40] * 3)
    expected = plain_peaks(evidence)
    for rows in (2048, 4):  # whole, and in pieces of four texts
        monkeypatch.setattr(cut, "SHARD_SAMPLES", rows)
        shards = InMemoryShards(evidence)
        assert len(shards.shards()) == (1 if rows == 2048 else 6)
        activity = find_peaks(shards, 5, 0)
        for latent in range(LATENTS):
            n = min(len(expected[latent]), 5)
            top = activity.strongest
            seen = zip(-top.value[latent], top.row[latent], top.at[latent], strict=True)
            assert [tuple(map(float, peak)) for peak in seen][:n] == expected[latent][:n]
            assert (top.row[latent, n:] == -1).all()
            places = set(
                zip(activity.sampled.row[latent], activity.sampled.at[latent], strict=True)
            )
            assert {place for place in places if place[0] >= 0} <= {p[1:] for p in expected[latent]}
        assert activity.active_tokens.sum() == len(evidence.latent.flat)
        assert np.isnan(activity.largest[7]) and activity.active_tokens[7] == 0
        first = activity if rows == 2048 else first
    assert (first.sampled.row == activity.sampled.row).all(), "drawn by key, however it is cut"
    assert (first.sampled.at == activity.sampled.at).all()
    assert (first.active_sequences == activity.active_sequences).all()


def test_tenths_are_of_the_values_and_go_from_strong_to_weak() -> None:
    evidence = codes([3] * 400)
    activity = find_peaks(InMemoryShards(evidence), 2, 0)
    contexts = choose_contexts(activity, 2, np.zeros((0, 2)))
    windows = read_windows(InMemoryShards(evidence), contexts, activity.largest, 4)
    for latent in (0, 3):
        some = contexts.of(latent, latent + 1)
        groups = contexts.group[some].tolist()
        assert groups == [0, 0] + [tenth for tenth in range(10, 0, -1) for _ in range(2)]
        peaks = windows.parts[some][np.arange(len(groups)), windows.peak[some]]
        by_tenth = peaks[2:].reshape(10, 2)
        assert (by_tenth[:-1].min(axis=1) >= by_tenth[1:].max(axis=1)).all()
        assert peaks[0] == FULL_SCALE
    assert contexts.of(7, 8) == slice(contexts.of(8, 9).start, contexts.of(8, 9).start), "dead"


def test_windows_hold_the_words_and_values_around(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = codes([50, 3, 0, 9])
    shards = InMemoryShards(evidence)
    activity = find_peaks(shards, 4, 0)
    contexts = choose_contexts(activity, 1, np.array([[0, 1], [7, 0]]))
    whole = read_windows(shards, contexts, activity.largest, 8)
    for i in range(len(contexts)):
        row, latent = int(contexts.row[i]), int(contexts.latent[i])
        tokens, first = evidence.tokens[row], int(whole.first[i])
        assert whole.tokens[i][whole.tokens[i] >= 0].tolist() == tokens[first : first + 8].tolist()
        assert 0 <= whole.peak[i] < min(8, len(tokens) - first), "the place itself is in it"
        if contexts.at[i] >= 0:
            assert first + whole.peak[i] == contexts.at[i]
            assert whole.peak[i] <= 5 or first + 8 == len(tokens), "words before it and after"
        for column in range(min(8, len(tokens) - first)):
            own = evidence.latent[row][first + column]
            value = evidence.value[row][first + column][own == latent]
            expected = float(value[0]) / activity.largest[latent] if len(value) else 0.0
            assert whole.parts[i, column] == pytest.approx(FULL_SCALE * expected, abs=0.51)
    judged = np.flatnonzero(contexts.group == 11)
    assert contexts.latent[judged].tolist() == [0, 7] and (contexts.row[judged] == [1, 0]).all()
    monkeypatch.setattr(window_sizes, "MAX_WINDOW_BYTES", 8 * 6 * 9)  # nine windows at a time
    cuts = list(split_into_batches(contexts, LATENTS, 8, 2))
    assert all(c[0] % 2 == 0 for c in cuts), "whole steps"
    assert len(cuts) > 2 and [c[0] for c in cuts[1:]] == [c[1] for c in cuts[:-1]]
    again = [read_windows(shards, some, activity.largest, 8).parts for _, _, some in cuts]
    assert (np.concatenate(again) == whole.parts).all()


def test_five_of_a_hundred_beat_their_own_kind_by_chance() -> None:
    random = np.random.default_rng(0)
    rate = random.uniform(0.001, 0.1, 4000)
    overlap = random.beta(1, 1 + 100 * rate)  # seldom active, high by luck
    bars = compute_bars_by_rate(overlap[:2000], rate[:2000], rate[2000:])
    score = FeatureScore("overlap", overlap[2000:], [FeatureNull("random directions", bars)])
    share = count_wins(score)[0]
    assert share.share == pytest.approx(0.05, abs=0.015)
    seldom = rate[2000:] < 0.02
    assert (score.marks()[0][seldom] == YES).mean() == pytest.approx(0.05, abs=0.03)
    low, high = share.interval
    assert low < share.share < high and high - low < 0.03


def test_what_cannot_be_told_is_neither_yes_nor_no() -> None:
    nothing = compute_bars_by_rate(np.ones(10), np.full(10, 0.1), np.full(3, 0.1))
    assert np.isnan(nothing).all(), "ten of a null tell nothing"
    bars = np.array([0.1, 0.3, np.nan])
    score = FeatureScore("x", np.array([0.2, 0.3, 0.9]), [FeatureNull("null", bars)])
    assert score.marks()[0].tolist() == [YES, NO, CANNOT_TELL]
    share = count_wins(score)[0]
    assert (share.yes, share.no, share.cannot_tell, share.share) == (1, 1, 1, 0.5)
    others = np.full((2, 20), np.nan)
    others[0] = np.arange(20)
    assert compute_bars(others)[0] == np.quantile(np.arange(20), 0.95)
    assert np.isnan(compute_bars(others)[1])
    with pytest.raises(EvidenceError, match="no null"):
        FeatureScore("alone", np.ones(3))
    with pytest.raises(EvidenceError, match="numbers"):
        FeatureScore("x", np.ones(3), [FeatureNull("null", np.ones(2))])


def test_answers_of_judges_are_scored_on_both_sides() -> None:
    judgments = evil_judgments(LATENTS)
    own = compute_balanced_accuracy(judgments, judgments.is_own(), LATENTS)
    assert own[0] == (0.5 + 1.0) / 2, "one of two right, one of one"
    assert np.isnan(own[1:]).all()
