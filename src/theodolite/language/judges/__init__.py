"""Judges that say whether a latent is active in a text: language models, people and baselines."""

from theodolite.language.judges.answer_cache import AnswerCache
from theodolite.language.judges.asking import Budget, ask_judge
from theodolite.language.judges.bag_of_words import BagOfWordsJudge
from theodolite.language.judges.base import Judge, JudgeAnswer, JudgeQuestion
from theodolite.language.judges.batch_files import read_batch, write_batch
from theodolite.language.judges.constant import CoinJudge, ConstantJudge
from theodolite.language.judges.explainer import explain_latents
from theodolite.language.judges.formula import FormulaJudge
from theodolite.language.judges.http import HttpJudge
from theodolite.language.judges.keyword import KeywordJudge
from theodolite.language.judges.latent_texts import LatentTexts, permute_codes
from theodolite.language.judges.log_odds import LogOddsJudge
from theodolite.language.judges.questions import LatentQuestions, QuestionMaker
from theodolite.language.judges.registry import find_judge, judge_names
from theodolite.language.judges.rows import judge_and_people, judgment_evidence, match_lengths
from theodolite.language.judges.simulators import simulate
from theodolite.language.judges.stored import StoredJudge

__all__ = [
    "AnswerCache",
    "BagOfWordsJudge",
    "Budget",
    "CoinJudge",
    "ConstantJudge",
    "FormulaJudge",
    "HttpJudge",
    "Judge",
    "JudgeAnswer",
    "JudgeQuestion",
    "KeywordJudge",
    "LatentQuestions",
    "LatentTexts",
    "LogOddsJudge",
    "QuestionMaker",
    "StoredJudge",
    "ask_judge",
    "explain_latents",
    "find_judge",
    "judge_and_people",
    "judge_names",
    "judgment_evidence",
    "match_lengths",
    "permute_codes",
    "read_batch",
    "simulate",
    "write_batch",
]
