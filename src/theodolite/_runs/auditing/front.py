"""Public function ``theodolite.audit``: audit evidence, arrays, files or a model in one call."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from theodolite._runs.auditing.common import (
    PlainArray,
    ProgressChoice,
    choose_progress,
    with_images,
)
from theodolite._runs.auditing.dispatch import find_function
from theodolite._runs.auditing.reading import read_sources
from theodolite._runs.auditing.result import AuditResult, answer_source
from theodolite._runs.auditing.sources import EvidenceSource, merge_sources, with_claim
from theodolite._scoring.evaluate import Resampling
from theodolite._verdicts.answers import OnError
from theodolite._verdicts.selection import MetricChoice, select_metrics
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import from_arrays
from theodolite.evidence.sources.table_columns import is_table
from theodolite.evidence.subject import Subject
from theodolite.questions import Question

if TYPE_CHECKING:
    from theodolite.models.features import Preprocessing

Source = Evidence | str | Path


def audit(  # noqa: PLR0913  each is a way in
    evidence: Source | Sequence[Source] | None = None,
    resampling: Resampling | None = None,
    progress: ProgressChoice = "auto",
    *,
    metrics: Sequence[MetricChoice] | None = None,
    questions: Sequence[Question] | None = None,
    seed: int | None = None,
    resamples: int | None = None,
    model: object = None,
    layer: str | None = None,
    data: object = None,
    dataset: str = "folder",
    preprocessing: "Preprocessing | Mapping[str, object] | None" = None,
    cache: str | Path | None = None,
    subject: Subject | None = None,
    claim: str | None = None,
    images: Any = None,
    store_images: bool = True,
    on_error: Literal["note", "raise"] = "note",
    **arrays: PlainArray,
) -> AuditResult:
    """Audit evidence, arrays, files or a model, and answer every question that the input allows.

    Args:
        evidence: Evidence, a path or address, or a list of these: a .npz, .safetensors, .csv,
            .parquet or Arrow file, a folder or address of stored evidence, a run folder, an
            exported study.
        resampling: All settings of resampling, if ``seed`` and ``resamples`` are not enough.
        progress: Function that is called during the audit; ``"auto"`` writes to stderr if it is a
            terminal.
        metrics: Compute these scores only: names, or a name and its options, such as
            ``("concept_existence", {"top": (3,)})``. Default: all that the evidence allows.
        questions: Compute scores of these questions only.
        seed: Seed of intervals and baselines. Default: 0.
        resamples: Number of resamples for intervals. Default: 1000.
        model: A torch module (or the name of a timm network), instead of evidence.
        layer: Name of the layer. Default: the last one with spatial positions.
        data: The folder of a concept data set.
        dataset: Format of that folder: ``folder`` (docs/data-format.md), ``cub``, ``monumai``, …
        preprocessing: Preprocessing of the network's images, such as ``{"size": (32, 32), "mean":
            (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}``. Default: that of timm, or a guess.
        cache: Folder that keeps what the network makes of images. Default: the same folder as on
            the command line.
        subject: The explanation, its network, and the outputs that it is compared with
            (``theodolite.Subject``). Default for arrays: "the outputs you gave".
        claim: The claim of the explanation in the words of its user, which is the title of the
            report, such as "This style, because of these five elements".
        images: One image per sample, for the report: an array or a list of arrays, PIL images or
            paths. At most 12 thumbnails of at most 256 pixels are stored.
        store_images: Whether thumbnails may be stored with the run.
        on_error: How errors of metrics are handled: ``note`` keeps them in ``errors`` of the result
            and continues with the other metrics, ``raise`` raises them.
        **arrays: Arguments of ``theodolite.audit_concepts``, ``audit_tokens`` or ``audit_ratings``,
            which is called if its first array is among them; or arrays, tensors or frames named as
            ``theodolite evidence`` says, also ``ids`` and ``clusters``, or
            ``samples=theodolite.Samples(...)``. Beside the path of a .csv, .parquet or Arrow
            file, what its columns are: ``values="pred_*"``; none if they are named like arrays.

    Example:
        >>> import theodolite
        >>> from theodolite._planted.concepts import planted_concepts
        >>> result = theodolite.audit(planted_concepts())
        >>> [(v.question, v.answer) for v in result.verdicts if v.answer != "not_evaluated"]
        [('exists', 'yes'), ('leak_free', 'inconclusive')]
        >>> [missing.question for missing in result.missing]
        ['located', 'faithful', 'accepted']
    """
    if evidence is None and arrays:
        options = {
            "resampling": resampling, "metrics": metrics, "questions": questions, "seed": seed,
            "resamples": resamples, "model": model, "layer": layer, "data": data,
            "preprocessing": preprocessing, "subject": subject, "claim": claim, "images": images,
            "store_images": None if store_images else False,
            "on_error": None if on_error == "note" else on_error,
        }  # fmt: skip
        options = {name: value for name, value in options.items() if value is not None}
        if (function := find_function(arrays, options)) is not None:
            result: AuditResult = function(**arrays, **options, progress=progress)
            return result
    resampling = chosen_resampling(resampling, seed, resamples)
    selection = select_metrics(metrics, questions)
    progress = choose_progress(progress)
    parts = evidence_parts(evidence, arrays, "audit")
    if model is not None or data is not None:
        from theodolite._runs.auditing.network import network_evidence  # noqa: PLC0415

        parts.append(network_evidence(model, layer, data, dataset, progress, preprocessing, cache))
    elif layer is not None or preprocessing is not None:
        name, value = ("layer", layer) if layer is not None else ("preprocessing", preprocessing)
        raise EvidenceError(name, repr(value), "`model` and `data` too")
    if on_error not in get_args(OnError):
        raise EvidenceError("on_error", repr(on_error), "'note' or 'raise'")
    source = with_claim(_with_subject(merge_sources(parts), subject), claim)
    source = with_images(source, images, store=store_images, seed=resampling.seed)
    return answer_source(source, resampling, progress, selection, on_error)


def _with_subject(source: EvidenceSource, subject: object) -> EvidenceSource:
    """Return the source with the given subject; raise an error if the evidence has its own."""
    if subject is None:
        return source
    if not isinstance(subject, Subject):
        raise EvidenceError(
            "subject", type(subject).__name__, "a theodolite.Subject",
            'e.g. Subject("concept bottleneck", "resnet18", outputs="model").',
        )  # fmt: skip
    known = source.subject
    if known is not None and known.outputs not in ("given", "unknown"):
        raise EvidenceError(
            "subject",
            "one for evidence that has its own",
            "none",
            f"It is of: {known.description}.",
        )
    return replace(source, subject=subject)


def _unnamed_arrays(argument: object) -> EvidenceError:
    return EvidenceError(
        "audit",
        type(argument).__name__,
        "evidence, or the path of some",
        "Are these arrays? Name them: theodolite.audit(values=..., truth=...).",
    )


def chosen_resampling(resampling: object, seed: int | None, resamples: int | None) -> Resampling:
    """Return how to draw: what was said, and the usual for the rest."""
    if hasattr(resampling, "shape") or isinstance(resampling, list | tuple):
        raise _unnamed_arrays(resampling)
    if not isinstance(resampling, Resampling | None):
        raise EvidenceError(
            "resampling", type(resampling).__name__, "Resampling(resamples=1000, seed=0)",
            "Or pass `seed` and `resamples` to theodolite.audit.",
        )  # fmt: skip
    chosen = {"seed": seed, "resamples": resamples}
    changes = {name: value for name, value in chosen.items() if value is not None}
    return replace(resampling or Resampling(), **changes)


def evidence_parts(
    evidence: Source | Sequence[Source] | None, arrays: Mapping[str, object], what: str
) -> list[EvidenceSource]:
    """Evidence, paths of some and plain arrays, as sources to be put together.

    Beside the path of a table, the arrays are columns of it.
    """
    sources = evidence if isinstance(evidence, list | tuple) else [evidence]
    with_table = any(is_table(source) for source in sources)
    parts = [] if evidence is None else _parts(sources, arrays if with_table else {})
    if arrays and not with_table:
        parts.append(EvidenceSource("arrays", [[from_arrays(arrays, what)]]))
    return parts


def _parts(sources: Sequence[object], columns: Mapping[str, object]) -> list[EvidenceSource]:
    paths: list[str | Path] = []
    for source in sources:
        if isinstance(source, str | Path):
            paths.append(source)
        elif not isinstance(source, Evidence):
            raise _unnamed_arrays(source)
    read = iter(read_sources(paths, columns))
    return [
        EvidenceSource(f"{source.kind} evidence", [[source]])
        if isinstance(source, Evidence)
        else next(read)
        for source in sources
    ]
