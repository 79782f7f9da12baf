"""Whoever can be asked whether a latent is active: models, people, and judges that know nothing."""

from theodolite.language.judges.answers import AnswerCache
from theodolite.language.judges.asking import Budget, answers_of
from theodolite.language.judges.bag_of_words import BagOfWordsJudge
from theodolite.language.judges.base import Judge, JudgeAnswer, JudgeQuestion
from theodolite.language.judges.constant import CoinJudge, ConstantJudge
from theodolite.language.judges.formula import FormulaJudge
from theodolite.language.judges.http import HttpJudge
from theodolite.language.judges.keyword import KeywordJudge
from theodolite.language.judges.latent_texts import LatentTexts, codes_dealt_out
from theodolite.language.judges.log_odds import LogOddsJudge
from theodolite.language.judges.questions import LatentQuestions, QuestionMaker
from theodolite.language.judges.registry import find_judge, judge_names
from theodolite.language.judges.rows import judge_and_people, judgment_evidence, length_matched
from theodolite.language.judges.simulators import simulated_by
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
    "answers_of",
    "codes_dealt_out",
    "find_judge",
    "judge_and_people",
    "judge_names",
    "judgment_evidence",
    "length_matched",
    "simulated_by",
]
