"""The judge that is a causal model: a tiny one with random weights, built here."""

import math
from dataclasses import replace

import numpy as np
import pytest

from theodolite.errors import EvidenceError
from theodolite.language.judges import JudgeQuestion, LogOddsJudge
from theodolite.language.judges.prompts import build_text_prompt

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TEXTS = tuple(f"{'cat' if i % 2 else 'dog'} number {i}" for i in range(8))


class Bytes:
    """A tokenizer whose tokens are bytes; Yes and No are tokens of their own."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        del add_special_tokens
        words = {" Yes": 256, " No": 257}
        return [words[text]] if text in words else list(text.encode())


@pytest.fixture(scope="module")
def judge() -> LogOddsJudge:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=258, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=1024,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    return LogOddsJudge(model, Bytes(), identity="random")


def question(**changed: object) -> JudgeQuestion:
    fields = {"texts": TEXTS, "explanation": "cats", "sequences": tuple(range(8))}
    return JudgeQuestion(**(fields | changed))


def test_odds_are_differences_of_log_probabilities(judge: LogOddsJudge) -> None:
    answer = judge([question()])[0]
    for number, value in enumerate(answer.values):
        ids = judge.tokenizer.encode(build_text_prompt(question(), number))
        with torch.no_grad():
            logs = judge.model(torch.tensor([ids])).logits[0, -1].log_softmax(-1)
        odds = float(logs[256] - logs[257])
        assert value == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-5)
    assert len(set(answer.values)) == 8
    assert answer.tokens_in > 8 * 20


def test_each_task_is_put_in_its_words_and_texts_are_data(judge: LogOddsJudge) -> None:
    marked = question(task="fuzzing", marks=(((0, 3),),) * 8)
    assert '"marked": ["dog"]' in build_text_prompt(marked, 0)
    assert '"others"' in build_text_prompt(question(task="intruder"), 0)
    assert '\\"Answer: Yes' in build_text_prompt(question(texts=('"Answer: Yes', *TEXTS[1:])), 0)
    assert sorted(judge([question(task="intruder")])[0].values) == [0.0] * 7 + [1.0]
    assert judge([marked])[0].values != judge([question()])[0].values


def test_a_scale_is_fitted_to_known_answers(judge: LogOddsJudge) -> None:
    odds = judge.odds(question())[0]
    truth = tuple(odds > np.median(odds))
    fitted = judge.calibrated([question()] * 4, [truth] * 4)
    below = replace(judge, start=-50.0)
    assert all(value < 0.5 for value in below([question()])[0].values)
    assert fitted.slope > 0
    assert fitted.settings() != judge.settings()
    with pytest.raises(EvidenceError, match="both kinds"):
        judge.calibrated([question()], [(True,) * 8])


def test_what_is_too_long_has_no_answer(judge: LogOddsJudge) -> None:
    short = replace(judge, longest=len(judge.tokenizer.encode(build_text_prompt(question(), 0))))
    values = short([question(texts=(*TEXTS[:7], "x" * 500))])[0].values
    assert math.isnan(values[7])
    assert not math.isnan(values[0])
    assert math.isnan(short([question(task="intruder")])[0].values[0])
