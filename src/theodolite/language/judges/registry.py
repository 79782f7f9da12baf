"""Registry of judges by name: theodolite's own and those of installed packages."""

from collections.abc import Callable
from typing import Any

from theodolite.errors import EvidenceError, did_you_mean
from theodolite.evidence.plugins import leave_out, list_entry_points
from theodolite.language.judges.bag_of_words import BagOfWordsJudge
from theodolite.language.judges.base import Judge
from theodolite.language.judges.constant import CoinJudge, ConstantJudge
from theodolite.language.judges.formula import FormulaJudge
from theodolite.language.judges.http import HttpJudge
from theodolite.language.judges.keyword import KeywordJudge
from theodolite.language.judges.log_odds import LogOddsJudge
from theodolite.language.judges.stored import StoredJudge

GROUP = "judges"
OURS: dict[str, Callable[..., Judge]] = {
    "always_no": ConstantJudge.always_no,
    "always_yes": ConstantJudge.always_yes,
    "bag_of_words": BagOfWordsJudge,
    "coin": CoinJudge,
    "formula": FormulaJudge,
    "http": HttpJudge,
    "keyword": KeywordJudge,
    "log_odds": LogOddsJudge,
    "stored": StoredJudge,
}


def judge_names() -> list[str]:
    """Return the names of all available judges."""
    return sorted({*OURS, *(point.name for _, point in list_entry_points(GROUP))})


def find_judge(name: str, **settings: Any) -> Judge:
    """Return a judge by its name, with its settings.

    Other packages enter theirs through the entry point group ``theodolite.judges``; a name that is
    ours stays ours.

    >>> find_judge("coin", seed=1)
    CoinJudge(seed=1, name='coin')
    """
    if name in OURS:
        return OURS[name](**settings)
    for package, point in list_entry_points(GROUP):
        if point.name != name:
            continue
        try:
            make = point.load()
        except Exception as error:
            leave_out(package, GROUP, name, error)
            raise EvidenceError(f"judge {name!r}", f"{package} does not load", "it") from error
        judge: Judge = make(**settings)
        return judge
    names = judge_names()
    raise EvidenceError(
        "judge", repr(name), f"one of {', '.join(names)}", did_you_mean(name, names)
    )
