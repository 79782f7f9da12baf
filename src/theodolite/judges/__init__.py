"""Whoever can be asked whether a latent is active: models, people, and judges that know nothing."""

from theodolite.judges.answers import AnswerCache
from theodolite.judges.asking import Budget, answers_of
from theodolite.judges.bag_of_words import BagOfWordsJudge
from theodolite.judges.base import Judge, JudgeAnswer, JudgeQuestion
from theodolite.judges.constant import CoinJudge, ConstantJudge
from theodolite.judges.formula import FormulaJudge
from theodolite.judges.http import HttpJudge
from theodolite.judges.keyword import KeywordJudge
from theodolite.judges.latent_texts import LatentTexts, codes_dealt_out
from theodolite.judges.log_odds import LogOddsJudge
from theodolite.judges.questions import LatentQuestions, QuestionMaker
from theodolite.judges.registry import find_judge, judge_names
from theodolite.judges.rows import judge_and_people, judgement_evidence, length_matched
from theodolite.judges.simulators import simulated_by
from theodolite.judges.stored import StoredJudge

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
    "answers_of",
    "codes_dealt_out",
    "find_judge",
    "judge_and_people",
    "judge_names",
    "judgement_evidence",
    "length_matched",
    "simulated_by",
]
