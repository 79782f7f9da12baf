"""Audit of attributions to the features of a table, with the model that they explain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from theodolite._runs.auditing.common import ProgressChoice, audit_bundles, choose_progress
from theodolite._runs.auditing.explained_scale import ExplainedOutput, find_scale
from theodolite._runs.auditing.result import AuditResult
from theodolite._verdicts.selection import MetricChoice
from theodolite.errors import EvidenceError
from theodolite.evidence.attributions.explanations import (
    Attributions,
    contributions_of_slopes,
    read_attributions,
)
from theodolite.evidence.attributions.models import TableModel, choose_output
from theodolite.evidence.attributions.plan import DRAWS, AttributionPlan, attribution_plan
from theodolite.evidence.attributions.subsets import MAX_ENUMERATED, MIN_BUDGETED, count_subsets
from theodolite.evidence.attributions.tables import TableCodec, is_frame
from theodolite.evidence.axes import AttributionScale, AttributionScope, Features, Samples
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.evidence.pipeline_output import Progress
from theodolite.evidence.subject import Subject
from theodolite.questions import Question

MAX_BACKGROUND = 1000
"""Background rows that are kept; of more, this many are drawn by the seed."""
MAX_TRUSTED_FEATURES = 64
MIN_ROWS = 20


def audit_attributions(  # noqa: PLR0913  every argument is documented where it is used
    attributions: Any,
    X: Any = None,  # noqa: N803  as scikit-learn and shap call it
    *,
    model: Any,
    background: Any = None,
    output: int | str | None = None,
    groups: Mapping[str, Any] | Sequence[Any] | None = None,
    labels: ArrayLike | None = None,
    max_rows: int = 300,
    budget: int | None = None,
    lime_slopes: bool = False,
    questions: Sequence[Question] | None = None,
    metrics: Sequence[MetricChoice] | None = None,
    names: Sequence[str] | None = None,
    ids: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    claim: str | None = None,
    seed: int = 0,
    resamples: int = 1000,
    progress: ProgressChoice = "auto",
) -> AuditResult | dict[str, AuditResult]:
    """Audit attributions to the features of a table against the model that they explain.

    The model is asked once what it answers when random sets of features are taken from background
    rows. Attributions, baselines and the best possible attributions are scored on these answers.

    Args:
        attributions: Attributions of each row (rows, features), also of several outputs (rows,
            features, outputs); one list for all rows (features,); a frame, a ``shap.Explanation``,
            a list of LIME explanations; or several of these by the name of their method.
        X: The explained rows, an array or a pandas frame; those of a ``shap.Explanation`` if not
            given.
        model: An estimator, asked by ``predict_proba``, ``decision_function`` or ``predict``; or a
            function from rows to outputs.
        background: Rows from which removed features take their values. Default: the rows of ``X``.
        output: Explained output, by number or name. Default: the second of two, else the predicted
            output of each row.
        groups: Columns that are removed together: a group by column name, or one for each column.
        labels: True class of each row.
        max_rows: Rows that are scored; of more, this many are drawn by the seed.
        budget: Most rows that the model is asked about, beside the explained ones.
        lime_slopes: Whether LIME was made with ``discretize_continuous=False``: its weights are
            then slopes, and become contributions by the distance from the mean.
        questions: Questions to ask. Default: all that apply.
        metrics: Metrics to compute. Default: all that the arrays allow.
        names: Names of the features.
        ids: Names of the rows.
        clusters: Groups of dependent rows, such as those of one patient.
        claim: What the explanation says; the title of the report.
        seed: Seed of subsets, background rows, intervals and baselines.
        resamples: Resamples for intervals.
        progress: Progress function; ``"auto"`` writes to stderr if it is a terminal.

    Returns:
        Scores and verdicts; of several methods a dictionary of these by name.

    Example:
        >>> import numpy as np, theodolite
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> weights = np.array([2.0, -1.0, 0.5])
        >>> result = theodolite.audit_attributions(
        ...     (X - X.mean(axis=0)) * weights, X, model=lambda rows: rows @ weights)
        >>> result.verdicts["faithful"].answer
        'yes'
    """
    several = isinstance(attributions, Mapping)
    methods = dict(attributions) if several else {"": attributions}
    _check_numbers(max_rows=max_rows, budget=budget, seed=seed)
    table = ExplainedTable.of(methods, X, background, model, output)
    features = Features(tuple(names or table.names), table.codec.category_names)
    columns = _group_columns(groups, features.names)
    n_groups = len(features if columns is None else set(columns))
    n_rows, subsets, limits = limit_questions(min(max_rows, len(table.rows)), n_groups, budget)
    samples, notes = table.choose_rows(n_rows, ids, clusters, seed)
    evidence = AttributionEvidence(
        values=np.zeros(table.rows.shape), inputs=table.rows, background=table.draw(seed),
        output=np.zeros(len(table.rows)), samples=samples, features=features,
        groups=columns,
        labels=None if labels is None else np.asarray(labels)[samples.index],
    )  # fmt: skip
    plan = attribution_plan(evidence, subsets=subsets, seed=seed)
    notes = [*table.notes, *notes, *limits]
    explained = [table.explain(name, own, lime_slopes=lime_slopes)
                 for name, own in table.methods.items()]  # fmt: skip
    changed = ask_model(plan, explained, choose_progress(progress))
    results = {}
    for name, own, answers in zip(methods, explained, changed, strict=True):
        evidence = replace(plan.evidence, output=own.output)
        bundle = replace(
            AttributionPlan(evidence, plan.questions).answered(answers),
            values=own.values, base=own.base, scale=AttributionScale((own.scale,)),
            scope=AttributionScope(("global" if own.is_list else "local",)),
        )  # fmt: skip
        results[name] = audit_bundles(
            [bundle], questions=questions, metrics=metrics, claim=claim, seed=seed,
            resamples=resamples, progress=progress, notes=(*notes, *own.notes),
            name=own.label, subject=Subject(own.label, table.model_name, "model"),
        )  # fmt: skip
    return results if several else results[""]


def _check_numbers(**numbers: int | None) -> None:
    least = {"max_rows": MIN_ROWS, "budget": 1, "seed": 0}
    for name, number in numbers.items():
        whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if number is not None and (not whole or number < least[name]):
            raise EvidenceError(name, repr(number), f"a whole number from {least[name]} on")


def _group_columns(groups: Any, names: Sequence[str]) -> Any:
    """Return the group of each column; columns that are in none are their own."""
    if groups is None:
        return None
    if isinstance(groups, Mapping):
        unknown = [name for name in groups if str(name) not in names]
        if unknown:
            raise EvidenceError("groups", f"{unknown[0]!r}", f"columns, such as {list(names)[:5]}")
        by_name = {str(name): str(group) for name, group in groups.items()}
        return [by_name.get(name, name) for name in names]
    if len(groups) != len(names):
        raise EvidenceError("groups", f"{len(groups)}", f"{len(names)}, one for each column")
    return list(groups)


@dataclass(eq=False)
class ExplainedTable:
    """The explained rows, the background and the model, and every method's attributions."""

    methods: dict[str, Attributions]
    codec: TableCodec
    model: TableModel
    decision: TableModel | None
    """The model by its decision function, where that is not how it is asked."""
    model_name: str
    names: tuple[str, ...]
    output: Any
    classes: tuple[Any, ...]
    rows: Float[np.ndarray, "rows features"]
    background: Float[np.ndarray, "background_rows features"]
    index: Any
    notes: list[str]

    @classmethod
    def of(
        cls, methods: Mapping[str, Any], table: Any, background: Any, model: Any, output: Any
    ) -> "ExplainedTable":
        """Read everything, and check that it fits together."""
        n_features = None if table is None else np.shape(table)[-1]
        read = {n: read_attributions(own, n_features, output) for n, own in methods.items()}
        if not read:
            raise EvidenceError("attributions", "an empty dictionary", "one method or more")
        if table is None:
            table = next((a.rows for a in read.values()), None)
        if table is None:
            raise EvidenceError("X", "none", "the explained rows", "audit_attributions(values, X)")
        notes = []
        if background is None:
            background = table
            notes.append(f"Background: the {len(table):,} explained rows, as none were given.")
        fitted = () if is_frame(table) else tuple(getattr(model, "feature_names_in_", ()))
        codec = TableCodec.of(table, background, names=fitted)
        rows = codec.encode(table, "X")
        given_names = next((a.names for a in read.values() if a.names), ())
        names = codec.names or given_names or tuple(f"feature {j}" for j in range(rows.shape[1]))
        table_model = TableModel.of(model, codec)
        decision = None
        if table_model.method == "predict_proba" and hasattr(model, "decision_function"):
            decision = TableModel(codec, model.decision_function, "decision_function")
        own = {n: _fit_to_table(a, rows.shape, codec.names) for n, a in read.items()}
        name = type(model).__name__ if table_model.method else "the given function"
        classes = next((a.output_names for a in own.values() if a.output_names), ())
        return cls(
            own, codec, table_model, decision, name, names, output,
            tuple(getattr(model, "classes_", classes)), rows,
            codec.encode(background, "background"), table.index if is_frame(table) else None, notes,
        )  # fmt: skip

    def choose_rows(
        self, max_rows: int, ids: ArrayLike | None, clusters: ArrayLike | None, seed: int
    ) -> tuple[Samples, list[str]]:
        """Draw rows by the seed where there are too many; everything then has only these."""
        n = len(self.rows)
        for name, column in (("ids", ids), ("clusters", clusters)):
            if column is not None and len(np.asarray(column)) != n:
                got = f"{len(np.asarray(column))}"
                raise EvidenceError(name, got, f"{n}, one for each row")
        chosen = np.arange(n)
        notes = []
        if n > max_rows:
            chosen = np.sort(np.random.default_rng(seed).choice(n, max_rows, replace=False))
            notes.append(f"{max_rows:,} of {n:,} rows, drawn by the seed (`max_rows`).")
        if ids is None and self.index is not None and self.index.is_unique:
            ids = [str(name) for name in self.index]
        self.rows = self.rows[chosen]
        self.methods = {n: _select_rows(a, chosen) for n, a in self.methods.items()}
        return Samples(
            index=chosen,
            ids=None if ids is None else np.asarray(ids).astype(str)[chosen],
            clusters=None if clusters is None else np.asarray(clusters)[chosen],
        ), notes

    def draw(self, seed: int) -> Float[np.ndarray, "background_rows features"]:
        """Return the background, of very many rows some."""
        n = len(self.background)
        if n <= MAX_BACKGROUND:
            return self.background
        self.notes.append(f"Background: {MAX_BACKGROUND:,} of {n:,} rows, drawn by the seed.")
        rows = np.random.default_rng(seed + 1).choice(n, MAX_BACKGROUND, replace=False)
        return self.background[np.sort(rows)]

    def explain(self, name: str, own: Attributions, *, lime_slopes: bool) -> ExplainedOutput:
        """Return what a method explains: which output, on which scale."""
        outputs = self._outputs
        explained = own.explained
        if explained is None or outputs.ndim == 1:
            explained = choose_output(outputs, self.output, self.classes)
        scaled = find_scale(own, explained, outputs, self.model, self.decision, self.rows)
        notes, values = [*own.notes, *scaled.notes], scaled.values
        if lime_slopes:
            values = contributions_of_slopes(values, self.rows, self.background)
            notes.append("LIME slopes were multiplied by (x - mean) / sd of the background.")
        if outputs.ndim == 2 and outputs.shape[1] > 2 and self.output is None:
            notes.append("The explained output is the predicted one of each row.")
        if values.shape[1] > MAX_TRUSTED_FEATURES:
            notes.append(
                f"With more than {MAX_TRUSTED_FEATURES} features the best possible fit is "
                "underestimated."
            )
        known = not name or name.lower() in own.label.lower()
        label = own.label if known else f"{own.label} ({name})"
        return replace(scaled, values=values, notes=tuple(notes), label=label)

    @cached_property
    def _outputs(self) -> np.ndarray:
        """What the model answers about the chosen rows."""
        return self.model.ask(self.rows)


def _fit_to_table(
    own: Attributions, shape: tuple[int, ...], columns: tuple[str, ...]
) -> Attributions:
    """Broadcast a list, put columns into the order of the table, and check the shape."""
    values, names = own.values, own.names
    if names and columns and names != columns and set(names) == set(columns):
        places = [names.index(column) for column in columns]
        values = values[places] if own.is_list else values[:, places]
        own = replace(own, values=values, names=columns)
    expected = shape[1:] if own.is_list else shape
    if values.shape[:2] != expected:
        raise EvidenceError(
            "attributions", f"shape {values.shape}", f"{expected}, as the explained rows"
        )
    return own


def _select_rows(own: Attributions, chosen: np.ndarray) -> Attributions:
    n = len(own.values)
    base = own.base
    if base is not None and base.ndim and len(base) == n and not (
        own.values.ndim == 3 and base.ndim == 1
    ):  # fmt: skip
        base = base[chosen]
    return replace(
        own, values=own.values if own.is_list else own.values[chosen], base=base,
        explained=None if own.explained is None else own.explained[chosen],
    )  # fmt: skip


def limit_questions(
    n_rows: int, n_groups: int, budget: int | None
) -> tuple[int, int | None, list[str]]:
    """Return how many rows to score, with how many subsets (None: the usual number).

    Of a budget that is too small there are fewer subsets first, and then fewer rows.
    """
    usual = count_subsets(n_groups)
    if budget is None or n_rows * usual * DRAWS <= budget:
        return n_rows, None, []
    subsets = usual
    if n_groups > MAX_ENUMERATED:
        subsets = max(MIN_BUDGETED, budget // (n_rows * DRAWS) // 2 * 2)
    n_rows = min(n_rows, budget // (subsets * DRAWS))
    if n_rows < MIN_ROWS:
        needed = MIN_ROWS * subsets * DRAWS
        raise EvidenceError("budget", f"{budget:,}", f"{needed:,} or more, for {MIN_ROWS} rows")
    note = f"Budget: {n_rows:,} rows with {subsets} subsets each."
    return n_rows, subsets if subsets != usual else None, [note]


def ask_model(
    plan: AttributionPlan, explained: Sequence[ExplainedOutput], progress: Progress
) -> list[Float[np.ndarray, " rows"]]:
    """Return the answers to the rows of a plan on each method's scale; the model is asked once."""
    assert plan.questions is not None  # noqa: S101  nothing was answered yet
    parts: list[list[np.ndarray]] = [[] for _ in explained]
    each, done = len(plan) // len(plan.evidence), 0
    for rows in plan.blocks():
        samples = np.arange(done, done + len(rows)) // each
        answers: dict[int, np.ndarray] = {}
        for own, part in zip(explained, parts, strict=True):
            key = id(own.model)
            if key not in answers:
                answers[key] = own.model.ask(rows)
            part.append(own.read(answers[key], samples))
        done += len(rows)
        progress("rows answered by the model", done, len(plan))
    return [np.concatenate(part) for part in parts]
