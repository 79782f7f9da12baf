"""Questions about latents: from the half that nothing was chosen on, with the right truth."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Latents, Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.language.judges import ConstantJudge, FormulaJudge
from theodolite.language.judges.latent_texts import LatentTexts, permute_codes
from theodolite.language.judges.questions import QuestionMaker
from theodolite.language.texts.vocabulary import Vocabulary
from theodolite.metrics.language.judges import JudgeDetection

WORDS = [" the", " cat", " dog", " sat", " ran", " é".encode()[:2], " é".encode()[2:], "."]
CAT, LATENTS = 1, 3


def texts(n: int = 240, seed: int = 0) -> LatentTexts:
    """Latent 0 is active on cats, latent 1 anywhere, latent 2 in long texts."""
    random = np.random.default_rng(seed)
    tokens, latent, value = [], [], []
    for _ in range(n):
        own = random.choice(
            [0, 1, 2, 3, 4, 7], size=random.integers(2, 9), p=[0.3, 0.1, 0.2, 0.2, 0.1, 0.1]
        )
        codes = [
            [c for c, on in enumerate((t == CAT, random.random() < 0.2, len(own) > 5)) if on]
            for t in own
        ]
        tokens.append(own.tolist())
        latent.append(codes)
        value.append([[1.0 + random.random() for _ in c] for c in codes])
    evidence = TokenEvidence(
        tokens=tokens, latent=latent, value=value, latents=Latents(count=LATENTS),
        samples=Samples(np.arange(n), clusters=np.arange(n) // 2),
    )  # fmt: skip
    return LatentTexts(evidence, Vocabulary.of(WORDS))


SOURCE = texts()
MAKER = QuestionMaker(SOURCE, {0: "cat", 1: "cat", 2: "cat"}, each=8)


def truth_of(latent: int, row: int) -> bool:
    codes = SOURCE.evidence.latent
    assert codes is not None
    return any(latent in token for token in codes[row])


@pytest.mark.parametrize("negatives", ["length", "random", "near", "matched"])
def test_texts_are_of_the_other_half_and_truths_are_true(negatives: str) -> None:
    asked = MAKER.detection([0, 1], negatives)  # type: ignore[arg-type]
    assert asked.questions
    for question, active in zip(asked.questions, asked.active, strict=True):
        assert not SOURCE.choosing[list(question.sequences)].any()
        assert len(set(question.sequences)) == len(question.sequences)
        assert [truth_of(question.latent, row) for row in question.sequences] == list(active)
        assert sum(active) * 2 == len(active)
        for row, text in zip(question.sequences, question.texts, strict=True):
            assert (
                text == b"".join(SOURCE.vocabulary[t] for t in SOURCE.evidence.tokens[row]).decode()
            )


def test_halves_share_no_document() -> None:
    first, second = (set(np.flatnonzero(half) // 2) for half in (SOURCE.choosing, ~SOURCE.choosing))
    assert first and second and not first & second


def test_negatives_of_equal_length_and_with_the_typical_token() -> None:
    (question,), (active,) = (lambda a: (a.questions, a.active))(MAKER.detection([0], "length"))
    rows = np.array(question.sequences)
    lengths = [np.sort(SOURCE.lengths[rows[np.array(active) == side]]) for side in (True, False)]
    (any_length,), (own,) = (lambda a: (a.questions, a.active))(MAKER.detection([0], "random"))
    others = np.array(any_length.sequences)
    apart = [np.sort(SOURCE.lengths[others[np.array(own) == side]]) for side in (True, False)]
    assert np.abs(lengths[0] - lengths[1]).sum() < np.abs(apart[0] - apart[1]).sum()
    (typical,) = MAKER.detection([1], "matched").questions
    token = MAKER._typical_token(1)
    assert all(
        token in SOURCE.evidence.tokens[row]
        for row, on in zip(
            typical.sequences, MAKER.detection([1], "matched").active[0], strict=True
        )
        if not on
    )


def test_a_judge_who_knows_scores_1_and_one_who_says_no_a_half() -> None:
    asked = MAKER.detection([0])
    for judge, expected in ((FormulaJudge(), 1.0), (ConstantJudge.always_no(), 0.5)):
        evidence = asked.answered(judge, SOURCE)
        ones = np.ones((1, len(evidence)))
        score = JudgeDetection.measure(evidence, ones, by=("balanced",))
        assert np.nanmean(score) == expected
    assert evidence.frequency is not None and 0 < evidence.frequency[0] < 1


def test_marks_are_on_active_tokens_or_on_as_many_others() -> None:
    for wrong in ("within", "across"):
        asked = MAKER.fuzzing([0], wrong)  # type: ignore[arg-type]
        (question,), (right,) = asked.questions, asked.active
        assert question.across == (wrong == "across")
        for text, spans, row, is_right in zip(
            question.texts, question.marks, question.sequences, right, strict=True
        ):
            marked = {text[start:end] for start, end in spans}
            assert (marked == {" cat"}) == is_right
            assert truth_of(0, row) == (is_right or wrong == "within")
        evidence = asked.answered(FormulaJudge(), SOURCE)
        assert_array_equal(evidence.answer, evidence.active)


def test_an_intruder_is_alone() -> None:
    asked = MAKER.intruder([0, 2], rounds=2)
    assert len(asked.questions) == 4
    assert all(len(active) == 5 and sum(active) == 4 for active in asked.active)
    assert not any(question.explanation for question in asked.questions)


def test_the_published_windows() -> None:
    asked = MAKER.windows([0, 1])
    assert asked.questions
    for question, active in zip(asked.questions, asked.active, strict=True):
        assert len(active) == 14 and sum(active) >= 4
        assert len(set(question.sequences)) == 14


def test_parts_of_characters_are_marked_as_the_character() -> None:
    evidence = TokenEvidence(
        tokens=[[0, 5, 6]],
        latent=[[[], [0], []]],
        value=[[[], [1.0], []]],
        latents=Latents(count=1),
    )
    source = LatentTexts(evidence, Vocabulary.of(WORDS))
    text = source.text(0)
    assert text == " the é"
    assert [text[a:b] for a, b in source.spans(0, [1])] == [" "]
    assert [text[a:b] for a, b in source.spans(0, [2])] == ["é"]


def test_codes_dealt_out_keep_lengths_and_counts() -> None:
    dealt = permute_codes(SOURCE.evidence, seed=1)
    own, other = SOURCE.evidence.latent, dealt.latent
    assert own is not None and other is not None
    assert_array_equal(np.bincount(own.flat), np.bincount(other.flat))
    assert_array_equal(own.starts, other.starts)
    cats = rows = 0
    for row in range(len(SOURCE.lengths)):
        for token, codes in zip(SOURCE.evidence.tokens[row], other[row], strict=True):
            rows += 0 in codes
            cats += 0 in codes and token == CAT
    assert cats < 0.5 * rows
    pooled = [sum(len(codes) for codes in other[row]) for row in range(len(SOURCE.lengths))]
    before = [sum(len(codes) for codes in own[row]) for row in range(len(SOURCE.lengths))]
    for length in np.unique(SOURCE.lengths):
        same = SOURCE.lengths == length
        assert sorted(np.array(pooled)[same]) == sorted(np.array(before)[same])


def test_judges_are_fitted_on_the_half_that_is_not_asked_about() -> None:
    words = SOURCE.keyword_judge([0]).words
    assert words == {0: (" cat",)}
    bag = SOURCE.bag_of_words_judge([0])
    learned, _ = bag.weights[0]
    assert max(learned, key=lambda word: learned[word]) == "cat"
    assert SOURCE.latents_to_ask(5) == [0, 1, 2]
    assert SOURCE.latents_to_ask(5, fewest=10_000) == []


def test_refusals() -> None:
    with pytest.raises(EvidenceError, match="one of"):
        MAKER.detection([0], "other")  # type: ignore[arg-type]
    with pytest.raises(EvidenceError, match="within or across"):
        MAKER.fuzzing([0], "other")  # type: ignore[arg-type]
    with pytest.raises(EvidenceError, match="1 to 50"):
        QuestionMaker(SOURCE, each=0)
    with pytest.raises(EvidenceError, match="no codes"):
        LatentTexts(TokenEvidence(tokens=[[0]]), Vocabulary.of(WORDS))
