"""Display names of questions, metrics and options on a page."""

import math
from collections.abc import Sequence

from theodolite._runs.folder.spec import RunSpec
from theodolite._verdicts.words import percent
from theodolite.metrics.catalogue import catalogue
from theodolite.results import Answer, Interval, Score, Verdict

OPTION = {
    "rank_by": {"contribution": "weight × value", "weight": "weight", "value": "value"},
    "population": {"all": "all samples", "correct": "correctly classified"},
    "over": {
        "concepts": "per concept",
        "pairs": "per pair",
        "classes": "per class",
        "units": "per unit",
    },
    "denominator": {"all": "", "category": "unit pixels of annotated images only"},
    "which": {"union": "images of either", "intersection": "images of both"},
    "by": {
        "iou": "by overlap",
        "detection_accuracy": "by detection accuracy",
        "accuracy": "accuracy",
        "f1": "F1 score",
        "auc": "area under the ROC curve",
    },
    "meeting": {"overlap": "", "present": "both somewhere in the image"},
    "form": {
        "1": "weights",
        "2": "mean values",
        "3": "weights × mean values",
        "paper": "as in the paper",
        "reference": "as in the published code",
        "defined": "as defined",
        "as_published": "as in the published code",
        "relative": "",
        "absolute": "not divided by the map's length",
        "joint": "one network per concept",
        "pairwise": "one network per pair",
    },
    "normalizer": {
        "reference": "normalized as in the published code",
        "truth": "normalized by the true concepts",
    },
    "reference": {"head": "against a head of the true concepts", "one": "against no error"},
    "corrected": {"0.0": "no_intervention", "0.5": "half corrected", "1.0": "all corrected"},
    "target": {"boxes": "boxes", "points": "points", "masks": "masks", "auto": ""},
    "surrogate": {
        "linear": "",
        "rebuilt": "on reconstructed embeddings",
        "learned": "with a trained network",
        "linearized": "by the slope",
    },
    "projection": {"given": "", "dot": "by dot products", "coordinates": "by coordinates"},
    "of": {"predicted": "", "label": "of the true class"},
    "chance": {"None": ""},
    "removal": {
        "first": "",
        "road": "pixels filled in (ROAD)",
        "black": "pixels made black",
        "uniform": "pixels replaced by uniform noise",
        "gaussian": "pixels replaced by Gaussian noise",
    },
    "across": {"best": "", "mean": "mean over thresholds"},
    "noise": {"first": "", "uniform": "uniform noise", "gaussian": "Gaussian noise"},
    "sign": {"positive": "", "absolute": "for and against the class"},
}
POPULATIONS = {"seeds": "retrained models"}
NAMES = {
    "top": "first {} named",
    "alpha": "region {}/12",
    "form": "{}",
    "k": "{} neighbors",
    "tie_seed": "ties broken by seed {}",
    "policy": "policy number {}",
    "most_steps": "in at most {} steps",
    "chance": "chance level {}",
}
METHODS = {
    "nmf": "ICE: non-negative parts",
    "svd": "CDISCO: singular vectors",
    "craft": "CRAFT: parts of patches",
    "concept_shap": "ConceptSHAP",
    "mcd": "MCD: subspaces",
    "sae": "sparse autoencoder",
    "pca": "principal components",
    "kmeans": "cluster centers",
    "random": "random directions",
    "cdisco": "CDISCO: singular vectors, own importances",
    "mcd_uncentered": "MCD: subspaces, not centered",
    "mcd_lasso": "MCD: subspaces by lasso",
    "mcd_lasso_uncentered": "MCD: subspaces by lasso, not centered",
    "hu_mcd_grid": "HU-MCD: subspaces of a grid's cells",
    "hu_mcd_slic": "HU-MCD: subspaces of superpixels",
    "sae_places": "sparse autoencoder on positions",
    "concept_shap_relearned": "ConceptSHAP, retrained decoder",
}
"""Methods that find concepts, in readers' words."""
ANSWER_WORDS: dict[Answer, str] = {
    "yes": "Yes",
    "partly": "Partly",
    "no": "No",
    "inconclusive": "Inconclusive",
    "not_evaluated": "Not evaluated",
}


def method_text(name: str) -> str:
    """A method in readers' words, with the name that runs know it by.

    >>> method_text("nmf"), method_text("mine")
    ('ICE: non-negative parts (nmf)', 'mine')
    """
    return f"{METHODS[name]} ({name})" if name in METHODS else name


def metric_text(value: float | None, name: str) -> str:
    """Format a number in the unit of a metric: percent if it is a fraction.

    >>> metric_text(0.8623, "surrogate_distance"), metric_text(-0.0166, "surrogate_error")
    ('86.2 %', '−0.02')
    """
    if value is None or math.isnan(value):
        return "–"
    metric = catalogue().get(name)
    share = metric is not None and metric.bounds == (0.0, 1.0)
    text = f"{round(100 * value, 1) + 0.0:,.1f} %" if share else f"{round(value, 2) + 0.0:,.2f}"
    return minus(text)


def option_text(name: str, value: object) -> str:
    """Describe one option in words."""
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
    metric = catalogue().get(score.metric)
    if metric is None:
        return ""
    texts = []
    for name, value in score.options.items():
        varies = name in (*metric.sweeps, "rank_by", "population", "over")
        if name == "over" and len(metric.choices(name)) == 1:
            continue  # nothing else to be told from
        if varies or _as_tuple(value) != _as_tuple(metric.options().get(name)):
            text = option_text(name, value)
            if text:
                texts.append(text)
    return ", ".join(texts)


def _as_tuple(value: object) -> object:
    """Files know lists where options are tuples."""
    return tuple(value) if isinstance(value, list) else value


def title(score: Score) -> str:
    """Return the metric's display name."""
    metric = catalogue().get(score.metric)
    return score.metric if metric is None else metric.title


def full_title(score: Score) -> str:
    """The metric's name with the options that tell it from its other scores."""
    options = options_text(score)
    return f"{title(score)}, {options}" if options else title(score)


def interval_words(interval: Interval, score: Score) -> str:
    """Low to high, in the score's own unit."""
    return f"{value_text(interval.low, score)} to {value_text(interval.high, score)}"


def source_words(interval: Interval, spec: RunSpec) -> str:
    """Describe what was resampled, in the reader's words; for a population, of what."""
    if interval.scope == "population":
        return POPULATIONS.get(interval.over, f"{interval.over} like these")
    if interval.over != "clusters":
        return interval.over
    return "classes" if spec.resampling.clusters == "classes" else "groups"


def value_text(value: float, score: Score) -> str:
    """A number in the score's own unit, without the sign where a column says it."""
    return percent(value, score).removesuffix(" %")


def minus(text: str) -> str:
    """Return a number with a minus sign in place of a hyphen."""
    return text.replace("-", "−")


def unbroken(text: str) -> str:
    """A number and its unit stay on one line."""
    return text.replace(" %", "\u00a0%")


def worst_first(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Sort verdicts by answer: "no" first, "not_evaluated" last."""
    order = ("no", "inconclusive", "partly", "yes", "not_evaluated")
    return sorted(verdicts, key=lambda v: order.index(v.answer))
