"""The title of a report before it is written: what the explanation claims, of what, on how much."""

from collections.abc import Sequence

from theodolite._runs.folder.run_records import ExaminedRecord, ExplanationRecord
from theodolite._runs.folder.spec import RunSpec
from theodolite.evidence.base import Evidence
from theodolite.evidence.subject import Claim, Subject

DEFAULT_CLAIMS = {
    "concept": Claim("These concepts, with these values"),
    "location": Claim("These concepts, at these places", samples="images"),
    "embedding": Claim("These concepts, with these vectors"),
    "intervention": Claim("These concepts, and the answer follows when they are corrected"),
    "surrogate": Claim("These concepts, with these importances, make up the output"),
    "saliency": Claim("These pixels made the answer", samples="images"),
    "unit": Claim("These units detect these concepts", samples="images"),
    "attribution": Claim("These features, with these attributions", "features", samples="rows"),
    "rating": Claim("People accept these explanations", samples="explanations"),
    "edit": Claim("These concepts follow what is edited"),
    "token": Claim("These latents, on these tokens", samples="sequences"),
    "judgment": Claim("These latents mean what these sentences say"),
}
"""What an explanation of a kind says, where nobody put it better."""
OTHER_CLAIM = Claim("This explanation")
EXPLANATIONS = {
    "concept": "Concept scores",
    "location": "Concept maps",
    "embedding": "Concept vectors",
    "intervention": "Concept corrections",
    "surrogate": "Concepts and importances",
    "saliency": "Saliency maps",
    "unit": "Units",
    "attribution": "Feature attributions",
    "rating": "Ratings",
    "edit": "Edited inputs",
    "token": "Latents at tokens",
    "judgment": "Answers of judges",
}
"""What arrays of a kind are called where nobody described them."""
COUNTED_AXES = (
    ("classes", "classes"), ("concepts", "concepts"), ("units", "units"),
    ("features", "features"), ("raters", "raters"),
)  # fmt: skip
"""Axes of evidence that a title counts, with the noun of a claim for each."""


def describe_explanation(subject: Subject, kind: str) -> str:
    """Return the name of the explanation; by the kind of its arrays, if nobody described it."""
    return (
        EXPLANATIONS.get(kind, subject.explanation) if subject.is_unstated else subject.explanation
    )


def build_explained_record(
    spec: RunSpec,
    claim: Claim | None,
    subject: Subject | None,
    evidence: Sequence[Sequence[Evidence]],
    others: Sequence[Evidence] = (),
) -> ExplanationRecord:
    """Return the record of the explanation in ``produced.json``; the spec's claim wins.

    What was examined includes the evidence of ``others``, further explanations of the network.
    """
    bundles = evidence[0] if evidence else ()
    subject = subject or spec.stated_subject
    kind = bundles[0].kind if bundles else ""
    claim = claim or DEFAULT_CLAIMS.get(kind, OTHER_CLAIM)
    return ExplanationRecord(
        claim=spec.claim or claim.text,
        method=describe_explanation(subject, kind),
        model=subject.model or "",
        data=subject.data,
        n=max((len(bundle) for bundle in bundles), default=None),
        counts=count_axes(bundles, claim, len(spec.seeds)),
        noun=claim.concepts,
        examined=[_examine(bundle, claim) for bundle in (*bundles, *others)],
    )


def _examine(bundle: Evidence, claim: Claim) -> ExaminedRecord:
    """Return how much evidence a bundle has, in its own unit."""
    samples = bundle.samples_are if bundle.samples_are != "samples" else claim.samples
    if bundle.kind == "unit":
        n_units = len(bundle.units)  # type: ignore[attr-defined]
        return ExaminedRecord(kind="unit", n=n_units, unit=f"units, over {len(bundle):,} {samples}")
    # the outputs that a surrogate approximates have a number per class
    left_out = claim.concepts if bundle.kind == "surrogate" else None
    axes = [f"{n:,} {noun}" for noun, n in count_axes([bundle], claim)[1:] if noun != left_out]
    unit = " × ".join([samples, *axes[-1:]])
    return ExaminedRecord(kind=bundle.kind, n=len(bundle), unit=unit)


def count_axes(
    bundles: Sequence[Evidence], claim: Claim | None = None, seeds: int = 1
) -> list[tuple[str, int]]:
    """Return how many samples, classes, concepts, units, features and seeds there are."""
    kind = bundles[0].kind if bundles else ""
    claim = claim or DEFAULT_CLAIMS.get(kind, OTHER_CLAIM)
    n = max((len(bundle) for bundle in bundles), default=None)
    counts = [] if n is None else [(claim.samples, n)]
    for name, noun in COUNTED_AXES:
        axes = [getattr(bundle, name, None) for bundle in bundles]
        axes += [getattr(getattr(bundle, "explained", None), name, None) for bundle in bundles]
        size = max((len(axis) for axis in axes if axis is not None), default=0)
        if size > 1:
            counts.append((getattr(claim, noun, noun), size))
    return [*counts, ("seeds", seeds)] if seeds > 1 else counts
