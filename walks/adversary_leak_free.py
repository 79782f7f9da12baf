"""Try to obtain "yes" for a bad explanation: do concepts carry only what their names say?

Each function is a row of ``docs/adversary.md``: a bad explanation, and what the audit says of it.
In all of them a value is its true concept plus a deviation, and deviations give the label away.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import theodolite

SCORES = ["joint_task_leakage", "predictive_task_leakage", "concept_prediction"]


def check(result, answer, disclosed=""):
    """Assert the answer, and that the card of the score that decides names the limitation."""
    verdict = result.verdicts["leak_free"]
    assert verdict.answer == answer, f"{verdict.answer}: {verdict.summary}"
    assert disclosed in verdict.score.describe(), verdict.score.describe()


def check_gate(result, exit_code):
    """Assert how ``theodolite gate`` ends if "yes" is required."""
    with tempfile.TemporaryDirectory() as folder:
        run, thresholds = Path(folder) / "run", Path(folder) / "thresholds.yaml"
        result.save(run)
        thresholds.write_text(json.dumps({"questions": {"leak_free": "yes"}}), "utf-8")
        program = Path(sys.executable).with_name("theodolite")
        done = subprocess.run([program, "gate", run, thresholds], stdout=subprocess.DEVNULL)
    assert done.returncode == exit_code, done.returncode


def draw(rows, concepts, labels=2, seed=0):
    """Return true concepts, labels and deviations that have nothing to do with one another."""
    random = np.random.default_rng(seed)
    truth = random.random((rows, concepts)) < 0.5
    return truth, random.integers(0, labels, rows), random.normal(size=truth.shape)


def audit_values(deviations, truth, labels, **more):
    """Audit values; the scores that decide are enough."""
    values = truth + 0.15 * deviations
    return theodolite.audit(values=values, truth=truth, labels=labels, metrics=SCORES, **more)


def xor_of_two_values():
    """Hide the label in the signs of two deviations, neither of which tells it."""
    truth, labels, deviations = draw(600, 3)
    sign = np.sign(deviations[:, 0]) * np.where(labels == 1, 1, -1)
    deviations[:, 1] = sign * np.abs(deviations[:, 1])
    result = audit_values(deviations, truth, labels)
    check(result, "no")
    check_gate(result, 6)


def fifty_thin_leaks():
    """Let each of 50 values tell 2 % of the label."""
    truth, labels, deviations = draw(400, 50)
    result = audit_values(deviations + 0.35 * (labels[:, None] - 0.5), truth, labels)
    check(result, "no")
    check_gate(result, 6)


def one_concept_of_forty():
    """Let one value of 40 tell the whole label."""
    truth, labels, deviations = draw(400, 40)
    deviations[:, 7] = np.abs(deviations[:, 7]) * np.where(labels == 1, 1, -1)
    result = audit_values(deviations, truth, labels)
    check(result, "no")
    check_gate(result, 6)


def xor_with_another_concept():
    """Hide the label in the sign of a deviation and in the truth of another concept."""
    truth, labels, deviations = draw(600, 3)
    sign = np.where((labels == 1) ^ truth[:, 1], 1, -1)
    deviations[:, 0] = sign * np.abs(deviations[:, 0])
    check(audit_values(deviations, truth, labels), "no")


def parity_of_three_values():
    """Hide the label in the signs of three deviations."""
    truth, labels, deviations = draw(1000, 3)
    sign = np.sign(deviations[:, 0] * deviations[:, 1]) * np.where(labels == 1, 1, -1)
    deviations[:, 2] = sign * np.abs(deviations[:, 2])
    check(audit_values(deviations, truth, labels), "yes", "the product of three values")


def narrow_waves():
    """Hide the label in a wave of 400 periods over the values."""
    truth, labels, deviations = draw(1000, 3)
    random = np.random.default_rng(1)
    period, within = random.integers(0, 400, 1000), random.random(1000)
    deviations[:, 0] = 4 * (period + (labels + within) / 2) / 400 - 2
    check(audit_values(deviations, truth, labels), "yes", "waves narrower than the bins")


def truth_declared_unknown():
    """Leak where the truth is declared unknown, and nowhere else."""
    truth, labels, deviations = draw(1000, 3)
    known = np.random.default_rng(1).random(truth.shape) < 0.5
    leak = 3 * np.abs(deviations) * np.where(labels == 1, 1, -1)[:, None]
    result = audit_values(np.where(known, deviations, leak), truth, labels, known=known)
    check(result, "yes", "values of samples whose concept is unknown")


def label_as_a_concept():
    """Add the label to the true concepts, so that they leave nothing open."""
    truth, labels, deviations = draw(1000, 6)
    truth[:, 5] = labels == 1
    sign = np.sign(deviations[:, 0]) * np.where(labels == 1, 1, -1)
    deviations[:, 1] = sign * np.abs(deviations[:, 1])
    check(audit_values(deviations, truth, labels), "inconclusive")


def coarse_labels():
    """Declare two labels, and leak the four finer ones that they are made of."""
    truth, fine, deviations = draw(1000, 4, labels=4)
    deviations[:, 0] = np.abs(deviations[:, 0]) * np.where(fine % 2 == 1, 1, -1)
    check(audit_values(deviations, truth, fine // 2), "yes", "finer classes than the labels")


def one_class_of_forty():
    """Give one class of 40 away, and no other."""
    truth, labels, deviations = draw(400, 1, labels=40)
    deviations[:, 0] += 6 * (labels == 0)
    check(audit_values(deviations, truth, labels), "inconclusive")


def few_clusters():
    """Leak the label, and declare the rows as 20 clusters."""
    truth, labels, deviations = draw(600, 3)
    deviations[:, 0] = np.abs(deviations[:, 0]) * np.where(labels == 1, 1, -1)
    result = audit_values(deviations, truth, labels, clusters=np.arange(600) % 20)
    check(result, "inconclusive")


def annotation_errors_declared():
    """Leak a little, and declare that a third of the annotations is wrong."""
    truth, _, deviations = draw(600, 3)
    likely = np.where(truth.sum(axis=1) >= 2, 0.8, 0.2)
    labels = (np.random.default_rng(1).random(600) < likely).astype(int)
    deviations[:, 0] += 1.5 * labels
    check(audit_values(deviations, truth, labels, annotation_error=0), "no")
    check(audit_values(deviations, truth, labels, annotation_error=0.3), "inconclusive")


def near_copies():
    """Audit five near copies of each of 200 honest rows, declared as clusters or not."""
    truth, labels, deviations = draw(200, 3)
    truth, labels, deviations = (np.repeat(a, 5, axis=0) for a in (truth, labels, deviations))
    deviations = deviations + 0.1 * np.random.default_rng(1).normal(size=deviations.shape)
    result = audit_values(deviations, truth, labels)
    check(result, "inconclusive")
    assert "declare clusters" in result.verdicts["leak_free"].summary


def annotation_errors():
    """Annotate one of ten concepts wrongly, so that an honest model seems to leak."""
    random = np.random.default_rng(0)
    real = random.random((1000, 3)) < 0.5
    labels = (random.random(1000) < np.where(real.sum(axis=1) >= 2, 0.8, 0.2)).astype(int)
    noted = real ^ (random.random(real.shape) < 0.1)
    values = real + 0.1 * random.normal(size=real.shape)
    result = theodolite.audit(values=values, truth=noted, labels=labels, metrics=SCORES)
    check(result, "inconclusive")


def values_that_say_nothing():
    """Give values without any information, which cannot leak."""
    truth, labels, deviations = draw(1000, 3)
    result = theodolite.audit(values=deviations, truth=truth, labels=labels, metrics=SCORES)
    check(result, "inconclusive")


def one_vector_of_thirty():
    """Let one concept vector of 30 tell the whole label."""
    truth, labels, _ = draw(200, 30)
    vectors = truth[..., None] + np.random.default_rng(1).normal(size=(200, 30, 2))
    vectors[:, 3, 0] += 4 * labels
    said = theodolite.ConceptEvidence(values=truth + 0.0, truth=truth, labels=labels)
    result = theodolite.audit(
        theodolite.EmbeddingEvidence(explained=said, vectors=vectors),
        metrics=["predictive_embedding_leakage"],
        resamples=100,
    )
    check(result, "yes", "hides one that gives the label away")


def corrections_change_nothing():
    """Ignore the concepts that people correct, and answer by something else."""
    right = np.random.default_rng(0).random((5000, 1, 1)) < 0.9
    result = theodolite.audit(right_after=np.tile(right, (1, 1, 5)), right_reference=right[:, 0, 0])
    check(result, "yes", "0 does not mean that nothing leaks")


def edits_move_all_concepts():
    """Move the edited concept by 1.00, and every other concept by 0.99."""
    random = np.random.default_rng(0)
    edited, direction = random.integers(0, 4, 100), random.choice([-1, 1], 100)
    before = random.random((100, 4))
    after = before + 0.99 * direction[:, None]
    after[np.arange(100), edited] += 0.01 * direction
    result = theodolite.audit(edited=edited, direction=direction, before=before, after=after)
    check(result, "yes", "how much less the others move")


for row in (
    xor_of_two_values, fifty_thin_leaks, one_concept_of_forty, xor_with_another_concept,
    parity_of_three_values, narrow_waves, truth_declared_unknown, label_as_a_concept,
    coarse_labels, one_class_of_forty, few_clusters, annotation_errors_declared, near_copies,
    annotation_errors, values_that_say_nothing, one_vector_of_thirty, corrections_change_nothing,
    edits_move_all_concepts,
):  # fmt: skip
    row()
