"""What do all values together tell about the label beyond all true concepts?"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from theodolite._stats.joint.annotation import JointAllowance
from theodolite._stats.joint.gains import JointGains, joint_gains
from theodolite._stats.joint.inputs import JointInputs, joint_inputs
from theodolite._stats.joint.limits import group_labels, rows_to_use
from theodolite._stats.joint.moments import (
    counted_rows,
    joint_limits,
    joint_moments,
    score_share,
)
from theodolite._stats.predictive_interval import PredictiveMoments, fault_interval, wider_by
from theodolite._stats.threads import limit_to_one_core
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.metrics.base import Card, NullModel, Pooled
from theodolite.metrics.leak_free._terms import leakage_metric, share, weighted_means
from theodolite.metrics.leak_free.predictive import annotation_errors, concept_strata
from theodolite.metrics.states import ANNOTATION, LIMIT, PAIR

TOLERANCE = 0.05
SHOWN_PAIRS = 5
LEVEL = 0.95
Rows = Float[np.ndarray, "rows samples"]


def _true_concepts(evidence: ConceptEvidence, seed: int) -> ConceptEvidence:
    del seed
    return replace_arrays(evidence, values=np.asarray(evidence.truth, float))


TRUE_CONCEPTS = NullModel(
    "leak_free_reference",
    "the true concepts in place of the values: they tell nothing beyond themselves",
    _true_concepts,
    random=False,
    is_reference=True,
    label="leak-free reference",
)


def sample_keys(evidence: ConceptEvidence) -> list[str]:
    """Return what each row is known by: its cluster, else its id, else its number."""
    samples = evidence.samples
    column = samples.clusters
    if column is None:
        column = samples.ids if samples.ids is not None else samples.index
    return [str(key) for key in np.asarray(column).tolist()]


@dataclass(frozen=True, eq=False)
class JointLeakage:
    """Gains of the samples of an explanation that were learned from."""

    inputs: JointInputs
    labels: int
    """Number of labels before they were grouped."""
    rows: np.ndarray | None
    """Samples that were learned from; None for all."""
    errors: Float[np.ndarray, " concepts"]
    """Rate of wrong annotations of each concept."""
    declared: bool
    """Whether the evidence says so."""

    @classmethod
    def of(cls, evidence: ConceptEvidence) -> "JointLeakage":
        """Take what is needed from evidence."""
        keys = sample_keys(evidence)
        rows = rows_to_use(keys)
        some = evidence if rows is None else evidence[rows]
        keys = keys if rows is None else [keys[row] for row in rows]
        labels = np.asarray(some.labels)
        inputs = joint_inputs(
            np.asarray(some.values, float), concept_strata(some).T, group_labels(labels, keys), keys
        )
        declared = evidence.annotation_error is not None
        return cls(inputs, len(np.unique(labels)), rows, annotation_errors(evidence), declared)

    @cached_property
    def gains(self) -> JointGains:
        """Learn the labels without and with the values, with the same bits on any machine."""
        with limit_to_one_core():
            return joint_gains(self.inputs)

    def shares(self, weights: Rows) -> Float[np.ndarray, " rows"]:
        """Return the joint share in each row of weights."""
        weights = weights if self.rows is None else weights[:, self.rows]
        counts = counted_rows(self.inputs)
        wider = wider_by(self.inputs.n_clusters)
        gained = weighted_means(self.gains.out, weights, wider=wider, counts=counts)
        surprise = weighted_means(self.gains.surprise, weights, counts=counts)
        return share(gained, surprise, least=-1.0)

    def moments(self) -> dict[str, np.ndarray]:
        """Return what interval, caveats and allowances are made from."""
        seen = score_share(self.inputs, self.gains)
        moments = joint_moments(self.inputs, self.gains, seen)
        limits = vars(joint_limits(self.inputs, self.gains, seen, self.labels))
        arrays = moments.arrays() | {LIMIT + name: np.asarray(v) for name, v in limits.items()}
        return arrays | self._allowances(moments) | self._pairs()

    def _allowances(self, moments: PredictiveMoments) -> dict[str, np.ndarray]:
        """Return how much wrong annotations explain, where there is anything to explain."""
        test = fault_interval(moments, TOLERANCE, LEVEL)
        if not min(test.p_nonzero, test.p_above_tolerance) <= 1 - LEVEL:
            return {}
        allowance, errors = (
            JointAllowance(self.inputs, moments.surprise, self.gains.base_fits),
            self.errors,
        )
        claimed = test.low - TOLERANCE if test.low > TOLERANCE else test.low
        with limit_to_one_core():
            share, tipping = allowance.share(errors), allowance.tipping(claimed)
        values = {
            "error": errors.max(initial=0.0), "share": share, "tipping": tipping,
            "declared": float(self.declared),
        }  # fmt: skip
        return {ANNOTATION + name: np.asarray(value) for name, value in values.items()}

    def _pairs(self) -> dict[str, np.ndarray]:
        """Return the pairs of concepts whose products tell most about the label."""
        heaviest = sorted(self.gains.pairs.items(), key=lambda item: (-item[1], item[0]))
        heaviest = [item for item in heaviest[:SHOWN_PAIRS] if item[1] > 0]
        if not heaviest:
            return {}
        rows = [(i, j, weight) for (i, j), weight in heaviest]
        return {PAIR: np.array(rows, float)}


@leakage_metric(
    "joint_task_leakage",
    title="Joint task leakage",
    tolerance=TOLERANCE,
    is_percentage=True,
    detail=False,
    judged_with=("predictive_task_leakage",),
    may_use=("known", "annotation_error"),
    nulls=(TRUE_CONCEPTS,),
    card=Card(
        question="By how much do all values together help to predict the answer for samples that "
        "were never seen, beyond all true concepts?",
        interpretation="0.1 means that the values take away a tenth of the uncertainty about the "
        "label that the true concepts leave. 0 or a little less: no leakage was found.",
        limitations="A lower bound for predictors that use each value, products of two values or "
        "of a value and another true concept, and one table of up to 128 bins. Not seen: a label "
        "in the product of three values, waves narrower than the bins, and groups of similar rows "
        "that are neither declared nor next to each other. Honest values that carry products of "
        "three true concepts count as leakage. Annotation errors that depend on the label are not "
        "allowed for. A share is a mean over labels: one class of fifty that is given away is 2 %. "
        "Leaks in values of samples whose concept is unknown, or about finer classes than the "
        "labels, are not looked for.",
        cost="about 110 small regressions in ten folds",
        template="The values of {noun} together give away {value} of what the true {noun} leave "
        "open about the label ({low}–{high}{best}). {null}{enough}.",
    ),
)
class JointTaskLeakage(Pooled):
    r"""What all values together add to predicting the label, beyond all true concepts.

    .. math:: T = \frac{\sum_i \log p(y_i \mid \hat c_i, c_i) - \log p(y_i \mid c_i)}
        {- \sum_i \log p(y_i \mid c_i)}

    Both probabilities are learned in ten folds without the cluster of sample i, from normal scores
    of the values within the strata of their own concept. Models (softmax regressions, with the
    eight best products of two, and tables) are mixed by how well they predict other folds. 0
    where the values tell nothing more, below 0 where what seemed to help did not; at most 1.
    Undefined where the true concepts settle every label. Ours, in place of the concepts-task score
    of :cite:t:`parisini2025leakage`, which looks at one concept at a time.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import joint_task_leakage
        >>> c = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (50, 1)).astype(bool)
        >>> a, b = np.sin(np.arange(200) * 1.7), np.cos(np.arange(200) * 2.9)
        >>> y = ((a > 0) ^ (b > 0)).astype(int)  # in neither value alone
        >>> values = c + 0.3 * np.stack([a, b], axis=1)
        >>> round(joint_task_leakage(values, c, y), 2)
        0.7
    """

    @staticmethod
    def measure(evidence: ConceptEvidence, weights: Rows) -> Float[np.ndarray, " rows"]:
        return JointLeakage.of(evidence).shares(weights)

    @staticmethod
    def measure_with_moments(
        evidence: ConceptEvidence, weights: Rows
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        leakage = JointLeakage.of(evidence)
        return leakage.shares(weights), leakage.moments()
