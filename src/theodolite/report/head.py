"""The head of a report: what may be relied upon, what not, and what was not asked."""

from collections.abc import Sequence
from typing import Any

from theodolite.metrics.catalogue import catalogue
from theodolite.report.chapters.clean import looks_for_a_fault
from theodolite.report.figures.strips import score_strip, strip_key
from theodolite.report.formulas import with_code
from theodolite.report.methods import anchor
from theodolite.report.words import full_title, method_text, source_words
from theodolite.results import Answer, Score, Verdict
from theodolite.run_folder.run_file import MadeRecord, RunRecord
from theodolite.run_folder.spec import RunSpec
from theodolite.subject import Subject

WORDS = {
    "yes": "Yes",
    "partly": "Partly",
    "no": "No",
    "cannot tell": "Cannot tell",
    "not asked": "Not asked",
}
ADVICE = {
    "yes": "In this respect the explanation can be relied upon.",
    "partly": "Better than chance, but not enough to rely on alone.",
    "no": "Do not rely on the explanation in this respect.",
    "cannot tell": "This evidence cannot answer the question.",
}
ADVICE_ON_FAITHFULNESS = ADVICE | {
    "yes": "Concepts times importances make up {puts_out}.",
    "partly": "Concepts times importances come nearer to {puts_out} than an explanation without "
    "meaning, but not surely near enough to rely on alone.",
    "no": "Concepts times importances do not make up {puts_out}: do not take them for its reasons.",
}
"""``{name}``, ``{puts_out}`` and ``{reasons}`` are those of the audit's subject."""
ADVICE_BY_KIND: dict[str, dict[str, dict[str, str]]] = {
    "saliency": {
        "faithful": ADVICE
        | {
            "yes": "The output depends on the marked pixels, and more than on those that a map "
            "without any knowledge marks.",
            "partly": "The marked pixels matter more than others, but not surely enough to rely on "
            "the map alone.",
            "no": "Other pixels matter as much: do not take the marked ones for {reasons}.",
        },
        "located": ADVICE
        | {
            "yes": "The map marks the object.",
            "partly": "The map marks the object more than chance would, but not surely enough to "
            "rely on alone.",
            "no": "The map does not single out the object: it looks elsewhere, or the answer goes "
            "by something else.",
        },
    },
    "edit": {
        "exists": ADVICE
        | {
            "yes": "Concepts follow edits of the input.",
            "no": "Concepts do not follow edits of the input.",
        },
        "leak_free": ADVICE
        | {
            "yes": "An edit of one concept moves that one.",
            "partly": "An edit moves its own concept more than chance would, but others with it.",
            "no": "An edit of one concept moves others as much: they are not apart.",
        },
        "faithful": ADVICE
        | {
            "yes": "The concepts predict what an edit does to {puts_out}; what else that is made "
            "of was not asked.",
            "partly": "The concepts predict something of what an edit does to {puts_out}, but not "
            "surely enough to rely on alone.",
            "no": "The concepts do not predict what an edit does to {puts_out}.",
        },
    },
}
"""What answers mean where a question is asked of other evidence than concepts: only what was
measured is said."""
BY_VOTES: dict[Answer, str] = {
    "yes": "People accept these explanations.",
    "partly": "People accept more of these explanations than chance would have it, but not surely "
    "enough of them.",
    "no": "People do not accept most of these explanations.",
    "cannot tell": "These votes do not tell whether people accept the explanations.",
}
ADVICE_ON_VOTES = ADVICE | {
    "yes": "That people accept an explanation does not make it true of what it explains.",
    "partly": "That people accept an explanation does not make it true of what it explains.",
    "no": "They may still be true of what they explain; people do not find them convincing.",
}
ADVICE_ON_FAULTS = ADVICE | {
    "partly": "There is some of it; whether more than we accept is not sure.",
    "no": "The concepts carry more than they say: do not take them at their word.",
}
FOR = {
    "exists": "which concepts are in the input",
    "located": "where its concepts are",
    "leak_free": "what its concepts carry",
    "faithful": "what the output is made of",
    "detects": "what a unit detects",
}
"""What somebody would rely on an explanation for, by question."""
FOR_BY_KIND = {
    "saliency": {
        "located": "where the object is",
        "faithful": "which pixels matter for the output",
    },
    "edit": {
        "exists": "which concepts follow the input",
        "leak_free": "which concept an edit moves",
        "faithful": "what an edit does to the output",
    },
    "token": {
        "exists": "which concepts its latents tell",
        "located": "which tokens matter",
        "leak_free": "which latents carry a concept",
        "faithful": "what its latents keep of the output",
        "detects": "what a latent detects",
    },
    "judgement": {"detects": "what a latent's explanation says of it"},
}


def head(
    record: RunRecord,
    made_record: MadeRecord,
    scores: Sequence[Score],
    verdicts: Sequence[Verdict],
    subject: Subject,
) -> dict[str, Any]:
    """What the first screen of a report shows."""
    scored_verdicts = [v for v in verdicts if v.score is not None]
    return {
        "title": record.spec.title or record.spec.name,
        "subtitle": _subtitle(record, made_record),
        "audited": subject.sentence,
        "bottom_line": partial(made_record) + bottom_line(verdicts),
        "verdicts": [card(verdict, subject) for verdict in verdicts],
        "key": strip_key(_interval_key(scored_verdicts, record.spec)),
        "facts": [(name, _fact(name, value)) for name, value in made_record.facts],
    }


def bottom_line(verdicts: Sequence[Verdict]) -> str:
    """What a reader may do with the explanation, in a sentence or two."""
    answered_verdicts = [v for v in verdicts if v.answer != "not asked"]
    if not answered_verdicts:
        return "No question could be asked."
    by_votes = [BY_VOTES[v.answer] for v in answered_verdicts if v.question == "accepted"]
    by_score = [v for v in answered_verdicts if v.question != "accepted"]
    sentences = [_reliance(by_score), *by_votes] if by_score else by_votes
    return " ".join(
        [*sentences, _silence(len(verdicts) - len(answered_verdicts), len(verdicts))]
    ).strip()


def _reliance(verdicts: Sequence[Verdict]) -> str:
    """What the explanation is good for, and what it is not."""
    by_answer = {answer: [_for(v) for v in verdicts if v.answer == answer] for answer in WORDS}
    good, some, bad = (_joined(by_answer[answer]) for answer in ("yes", "partly", "no"))
    unsure = by_answer["cannot tell"]
    parts = []
    if good:
        parts.append(f"Rely on this explanation for {good}")
        parts += [f"only partly for {some}"] if some else []
        parts += [f"not for {bad}"] if bad else []
    elif bad:
        parts.append(f"Do not rely on this explanation for {bad}")
        parts += [f"only partly for {some}"] if some else []
    elif some:
        parts.append(f"Rely on this explanation only partly for {some}")
    sentence = "; ".join(parts) + "." if parts else ""
    if not unsure:
        return sentence
    doubt = f"Whether to rely on it for {_joined(unsure)}, this evidence cannot tell."
    return f"{sentence} {doubt}".strip()


def _for(verdict: Verdict) -> str:
    score = verdict.score
    metric = None if score is None else catalogue().get(score.metric)
    by_question = FOR if metric is None else FOR_BY_KIND.get(metric.needs.kind, FOR)
    return by_question.get(verdict.question, FOR[verdict.question])


def _joined(texts: Sequence[str]) -> str:
    """A list in words.

    >>> _joined(["a"]), _joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def _silence(n: int, of: int) -> str:
    numbers = ("", "One", "Two", "Three", "Four", "Five", "Six")
    if not n:
        return ""
    verb = "was" if n == 1 else "were"
    return f"{numbers[n]} of the {numbers[of].lower()} questions {verb} not asked."


def partial(made_record: MadeRecord) -> str:
    """What comes before any verdict, if pieces of work were left out."""
    if not made_record.failed_pieces:
        return ""
    return f"Partial: {made_record.failed_pieces} pieces of the evidence failed and were left out. "


def card(verdict: Verdict, subject: Subject) -> dict[str, Any]:
    """One question of the head: its answer, why, and what that means; or why it was not asked."""
    score = verdict.score
    content = {
        "question": verdict.question,
        "css": verdict.answer.replace(" ", "-"),
        "asks": verdict.asks,
        "word": WORDS[verdict.answer],
    }
    if verdict.reason == "stand-in":
        content["word"] = "Not asked of your network"
    if score is None:
        return content | {
            "because": with_code(verdict.because),
            "what": "",
            "strip": "",
            "method": "",
        }
    because = f"{full_title(score)}: {verdict.because}".replace(" %", "\u00a0%")
    return content | {
        "because": because,
        "what": advice(verdict, subject),
        "strip": score_strip(score),
        "method": anchor(score.metric),
    }


def advice(verdict: Verdict, subject: Subject) -> str:
    """What an answer means for whoever would rely on the explanation."""
    assert verdict.score is not None  # noqa: S101  it was asked
    return _advice(verdict.score)[verdict.answer].format(**vars(subject.wording))


def _advice(score: Score) -> dict[str, str]:
    if looks_for_a_fault(score):
        return ADVICE_ON_FAULTS
    if score.question == "accepted":
        return ADVICE_ON_VOTES
    metric = catalogue()[score.metric]
    known = ADVICE_BY_KIND.get(metric.needs.kind, {}).get(score.question)
    if known is not None:
        return known
    of_concepts = score.question == "faithful" and not metric.asked_as
    return ADVICE_ON_FAITHFULNESS if of_concepts else ADVICE


def _subtitle(record: RunRecord, made_record: MadeRecord) -> str:
    day = record.started.partition("T")[0]
    n = dict(made_record.facts).get("test samples")
    return f"{day}" + (f" · {n:,} test samples" if isinstance(n, int) else "")


def _interval_key(verdicts: Sequence[Verdict], spec: RunSpec) -> str:
    intervals = [v.score.interval for v in verdicts if v.score is not None]
    over = dict.fromkeys(source_words(i, spec) for i in intervals if i is not None)
    return f"{100 * spec.resampling.level:g} % interval over {' or '.join(over) or 'samples'}"


def _fact(name: str, value: Any) -> str:
    if isinstance(value, float) and any(word in name for word in ("accuracy", "share", "probab")):
        return f"{100 * value:.1f} %"
    if isinstance(value, str):
        return method_text(value) if name.startswith("method") else value
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
