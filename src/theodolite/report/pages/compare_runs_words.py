"""Sentences on the differences between runs."""

import math
from collections.abc import Sequence

from theodolite._runs.comparison.compare_runs import Comparison
from theodolite._runs.comparison.comparison_rows import ComparisonRow, Outcome
from theodolite._runs.comparison.intervals import DifferenceTest
from theodolite._runs.comparison.paired_differences import Difference
from theodolite._runs.comparison.shortage import Shortage, find_model_shortage, find_recipe_shortage
from theodolite._verdicts.words import is_share
from theodolite.results import Interval, Score

THESE: dict[Outcome, str] = {
    "better": "better on these models",
    "worse": "worse on these models",
    "undecided": "no difference shown on these models",
    "cannot be told": "too few samples to tell these models apart",
    "the same": "the very same evidence",
    "not comparable": "not comparable",
    "exploration": "",
}
RECIPE: dict[Outcome, str] = {
    "better": "better for the recipe",
    "worse": "worse for the recipe",
    "undecided": "not shown for the recipe",
    "cannot be told": "inconclusive for the recipe",
}
CSS: dict[Outcome, str] = {
    "better": "yes",
    "worse": "no",
    "undecided": "partly",
    "cannot be told": "partly",
    "the same": "plain",
    "not comparable": "plain",
    "exploration": "plain",
}


def outcome_text(line: ComparisonRow) -> str:
    """Both claims of a headline in a sentence, such as: better on these models; not shown for the
    recipe (3 seeds, spread 1.0 points)."""
    delta, recipe = line.difference, RECIPE.get(line.recipe.outcome)
    if delta is None or recipe is None:
        return THESE[line.outcome]
    return f"{THESE[line.outcome]}; {recipe} ({seeds_text(delta, line.score)})"


def seeds_text(delta: Difference, score: Score) -> str:
    """Return how many seeds there are and how far they lie apart."""
    variances = delta.variances
    counts = dict.fromkeys(_seeds(n) for n in delta.seeds)
    if variances is None:
        return " and ".join(counts)
    what = "spread of their differences" if variances.paired else "spread"
    spread = signed(variances.spread, score).lstrip("+")
    return f"{' and '.join(counts)}, {what} {spread}{unit(score)}"


def _seeds(n: int) -> str:
    return "one seed" if n == 1 else f"{n} seeds"


def shortage_text(line: ComparisonRow) -> str:
    """What blocks a claim that is not shown, and how much more would do; empty where both are."""
    delta = line.difference
    if delta is None:
        return ""
    parts = []
    if line.these.outcome == "undecided":
        text = _needed(find_model_shortage(delta, line.these.alpha), delta)
        parts += [f"these models: {text}"] * bool(text)
    if line.recipe.outcome == "undecided":
        text = _needed(find_recipe_shortage(delta, line.recipe.alpha), delta)
        parts += [f"the recipe: {text}"] * bool(text)
    if line.recipe.outcome == "cannot be told" and min(delta.seeds) == 1:
        parts.append("the recipe: needs two or more seeds of each run")
    return "; ".join(parts)


def _needed(shortage: Shortage | None, delta: Difference) -> str:
    if shortage is None:
        return ""
    over = "samples" if delta.interval is None else delta.interval.over
    blocks = over if shortage.by == "samples" else "seeds"
    samples, seeds = _count(shortage.samples, over), _count(shortage.seeds, "seeds of each run")
    choices = (seeds, samples) if shortage.by == "seeds" else (samples, seeds)
    enough = " or ".join(filter(None, choices))
    if enough:
        return f"{blocks} block; {enough} would show a difference as large in four of five cases"
    least = _count(shortage.least[1], "seeds of each run"), _count(shortage.least[0], over)
    if all(least):
        return f"{blocks} block; a difference as large needs more than {' and '.join(least)}"
    return f"{blocks} block; a difference this small cannot be detected"


def _count(n: int | None, what: str) -> str:
    return "" if n is None else f"{n:,} {what}"


def signed(value: float, score: Score) -> str:
    """A difference with its sign, in percentage points where the score is a share."""
    if math.isnan(value):
        return "undefined"
    number = f"{100 * value:+.1f}" if is_share(score) else f"{value:+.2f}"
    plain = number.lstrip("+-")
    if not plain.strip("0."):
        return plain
    return number.replace("-", "\u2212")


def unit(score: Score) -> str:
    """What a difference is counted in."""
    return " points" if is_share(score) else ""


def between(interval: Interval | None, score: Score) -> str:
    """The interval of a difference in brackets."""
    if interval is None:
        return ""
    return f"[{signed(interval.low, score)}, {signed(interval.high, score)}]"


def difference_text(difference: Difference, score: Score) -> str:
    """The difference with its intervals: these models, and what other concepts or seeds give."""
    value = f"{signed(difference.value, score)}{unit(score)}"
    text = f"{value} {between(difference.interval, score)}".rstrip()
    for name, test in further(difference):
        text += f"; {name} {between(test.interval, score)}"
    return text


def further(difference: Difference) -> list[tuple[str, DifferenceTest]]:
    """Tests beside the one to quote, by what they are about."""
    tests = []
    if difference.population is not None:
        tests.append((f"other {difference.population.interval.over}", difference.population))
    if difference.recipe is not None:
        tests.append(("the recipe", difference.recipe))
    return tests


def p_text(p: float) -> str:
    """Format a p-value with three digits; empty if there is none."""
    if math.isnan(p):
        return ""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def sentence(pair: Comparison) -> str:
    """What a reader wants to know first."""
    first, second = pair.first.name, pair.second.name
    outcomes = [verdict_pair.line.outcome for verdict_pair in pair.questions]
    if not outcomes:
        return f"{second} and {first}: no question was asked in either."
    if set(outcomes) == {"not comparable"}:
        return f"{second} and {first} cannot be compared: {pair.questions[0].line.why}."
    if set(outcomes) == {"the same"}:
        return f"{second} and {first} hold the very same evidence."
    same, other = outcomes.count("the same"), outcomes.count("not comparable")
    parts = [f"{same} the same"] * bool(same) + [f"{other} not comparable"] * bool(other)
    text = f"On these models {second} is better than {first} in {_counts(outcomes)}"
    return f"{', '.join([text, *parts])}. {_recipe_sentence(pair)}"


def bottom_line(pair: Comparison, *, named: bool = False) -> tuple[str, str]:
    """The count of better and worse, and the rest of what a reader wants to know first."""
    outcomes = [verdict_pair.line.outcome for verdict_pair in pair.questions]
    if not {"better", "worse", "undecided", "cannot be told"} & set(outcomes):
        return sentence(pair), ""
    better, worse = outcomes.count("better"), outcomes.count("worse")
    text = f"better in {_questions(better)}, worse in {worse or 'none'}."
    text = f"{pair.second.name}: {text}" if named else text[0].upper() + text[1:]
    counts = {
        "no significant difference in": outcomes.count("undecided"),
        "too few samples to tell in": outcomes.count("cannot be told"),
        "the very same evidence in": outcomes.count("the same"),
        "not comparable in": outcomes.count("not comparable"),
    }
    rest = ", ".join(f"{words} {n}" for words, n in counts.items() if n)
    rest = f"{rest[0].upper()}{rest[1:]}. " if rest else ""
    return text, f"{rest}{_recipe_sentence(pair)}"


def _recipe_sentence(pair: Comparison) -> str:
    lines = [verdict_pair.line for verdict_pair in pair.questions]
    outcomes = [line.recipe.outcome for line in lines if line.recipe.outcome in RECIPE]
    if set(outcomes) == {"cannot be told"}:
        seeds = [line.difference.seeds for line in lines if line.difference is not None]
        why = "one seed" if min(map(min, seeds)) == 1 else "too few seeds have a score"
        return f"For the recipe, trained again: inconclusive ({why})."
    return f"For the recipe, trained again: better in {_counts(outcomes)}."


def _counts(outcomes: Sequence[Outcome]) -> str:
    undecided = outcomes.count("undecided") + outcomes.count("cannot be told")
    return (
        f"{_questions(outcomes.count('better'))}, worse in {outcomes.count('worse') or 'none'}, "
        f"{undecided or 'none'} undecided"
    )


def _questions(n: int) -> str:
    return "no question" if not n else f"{n} question{'s' * (n > 1)}"


def reach_of(lines: Sequence[ComparisonRow]) -> float:
    """Return how far a line around 0 must go to hold all differences."""
    ends = [1e-9]
    for difference in (line.difference for line in lines):
        if difference is None or math.isnan(difference.value):
            continue
        ends.append(abs(difference.value))
        for interval in difference.intervals:
            ends += [abs(interval.low), abs(interval.high)]
    return max(ends)
