"""Summarize the answers to all questions: whether to rely on an explanation."""

from collections.abc import Sequence

from theodolite._verdicts.words import joined, number_word
from theodolite.results import Answer, Verdict

RELY = {
    "no": "Do not rely on it.",
    "partly": "Rely on it in part.",
    "inconclusive": "The evidence is inconclusive.",
    "yes": "Rely on it.",
    "": "No question could be answered.",
}
"""The bottom line, by the worst answer."""
ALONE: dict[Answer, str] = {
    "yes": "It passes the one question that was evaluated.",
    "partly": "It passes in part the one question that was evaluated.",
    "no": "It fails the one question that was evaluated.",
    "inconclusive": "The one question that was evaluated is inconclusive.",
}
"""What becomes of a single question."""
ALIKE: dict[Answer, str] = {
    "yes": "It passes {} questions.",
    "partly": "It passes {} questions in part.",
    "no": "It fails {} questions.",
    "inconclusive": "The answers to {} questions are inconclusive.",
}
"""What becomes of several, if their answers are the same."""


def bottom_line(verdicts: Sequence[Verdict]) -> str:
    """What to do, and how many questions were passed and failed, as one text."""
    _, rely, counts = reliance(verdicts)
    return f"{rely} {counts}".strip()


def reliance(verdicts: Sequence[Verdict]) -> tuple[str, str, str]:
    """Return the worst answer, what to do, and the counts of questions by answer."""
    answers = [v.answer for v in verdicts if v.answer != "not_evaluated"]
    if not answers:
        return "", RELY[""], ""
    worst = "no" if "no" in answers else "partly"
    if len(set(answers)) == 1:  # nothing but "inconclusive" is no reason to rely on a part
        worst = answers[0]
    return worst, RELY[worst], _counts(answers)


def _counts(answers: Sequence[Answer]) -> str:
    if len(answers) == 1:
        return ALONE[answers[0]]
    every = {2: "both"}.get(len(answers), f"all {number_word(len(answers))}")
    among = f" of {number_word(len(answers))} questions"
    if len(set(answers)) == 1:
        return ALIKE[answers[0]].format(every)
    verbs: dict[Answer, str] = {"no": "fails {}", "partly": "passes {} in part", "yes": "passes {}"}
    parts: list[str] = []
    for answer, verb in verbs.items():
        n = answers.count(answer)
        if n:
            parts.append(verb.format(f"{number_word(n)}{'' if parts else among}"))
    text = f"It {joined(parts)}." if parts else ""
    unsure = answers.count("inconclusive")
    if not unsure:
        return text
    which = f"{number_word(unsure)}{'' if parts else among}".capitalize()
    return f"{text} {which} {'is' if unsure == 1 else 'are'} inconclusive.".strip()
