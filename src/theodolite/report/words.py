"""How things are called on the page."""

from theodolite.contracts.score import Interval, Score
from theodolite.execution.spec import RunSpec
from theodolite.execution.verdict import percent
from theodolite.metrics._catalogue import catalogue

OPTION = {
    "rank_by": {
        "contribution": "weight × value",
        "weight": "weight",
        "value": "value",
    },
    "population": {"all": "all samples", "correct": "rightly classified"},
    "over": {
        "concepts": "per concept",
        "pairs": "per pair",
        "classes": "per class",
        "units": "per unit",
    },
    "denominator": {"all": "", "category": "unit pixels of annotated pictures only"},
    "which": {"union": "pictures of either", "intersection": "pictures of both"},
    "by": {
        "iou": "by overlap",
        "detection_accuracy": "by detection accuracy",
        "accuracy": "accuracy",
        "f1": "F1 score",
        "auc": "area under the ROC curve",
    },
    "meeting": {"overlap": "", "present": "both somewhere in the picture"},
    "form": {
        "1": "weights",
        "2": "mean values",
        "3": "weights × mean values",
        "paper": "as in the paper",
        "reference": "as in the published code",
        "defined": "as defined",
        "as_published": "as in the published code",
        "joint": "one network per concept",
        "pairwise": "one network per pair",
    },
    "normaliser": {
        "reference": "normalised as in the published code",
        "truth": "normalised by the true concepts",
    },
    "reference": {"head": "against a head of the true concepts", "one": "against no error"},
    "corrected": {"0.0": "nothing corrected", "0.5": "half corrected", "1.0": "all corrected"},
    "target": {"boxes": "boxes", "points": "points", "masks": "masks", "auto": ""},
}
NAMES = {
    "top": "first {} named",
    "alpha": "region {}/12",
    "form": "{}",
    "k": "{} neighbours",
    "tie_seed": "ties broken by seed {}",
    "policy": "policy number {}",
}


def option_text(name: str, value: object) -> str:
    """One option, in words."""
    if name == "top" and value == 1:
        return "first named"
    if name == "corrected" and isinstance(value, int | float):
        return OPTION[name].get(str(float(value)), f"{100 * value:g} % corrected")
    known = OPTION.get(name, {}).get(str(value))
    if known is not None:
        return known
    return NAMES.get(name, name.replace("_", " ") + " {}").format(value)


def options_text(score: Score) -> str:
    """The options that tell this score from the same metric with its defaults."""
    entry = catalogue().get(score.metric)
    if entry is None:
        return ""
    shown = []
    for name, value in score.options.items():
        varies = name in (*entry.sweeps, "rank_by", "population", "over")
        if name == "over" and len(entry.choices(name)) == 1:
            continue  # nothing else to be told from
        if varies or value != entry.options().get(name):
            text = option_text(name, value)
            if text:
                shown.append(text)
    return ", ".join(shown)


def title(score: Score) -> str:
    """The metric's name for readers."""
    entry = catalogue().get(score.metric)
    return score.metric if entry is None else entry.title


def full_title(score: Score) -> str:
    """The metric's name with the options that tell it from its other scores."""
    options = options_text(score)
    return f"{title(score)}, {options}" if options else title(score)


def interval_words(interval: Interval, score: Score) -> str:
    """Low to high, in the score's own unit."""
    return f"{value_text(interval.low, score)} to {value_text(interval.high, score)}"


def source_words(interval: Interval, spec: RunSpec) -> str:
    """What was drawn anew, in the reader's words."""
    if interval.over != "clusters":
        return interval.over
    return "classes" if spec.resampling.clusters == "classes" else "groups"


def value_text(value: float, score: Score) -> str:
    """A number in the score's own unit, without the sign where a column says it."""
    return percent(value, score).removesuffix(" %")
