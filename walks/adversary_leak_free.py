"""Try to obtain "yes" for a bad explanation: do concepts carry only what their names say?

Each function is a row of ``docs/adversary.md``: a bad explanation, and what the audit says of it.
"""

import numpy as np

import theodolite


def check(result, answer, disclosed=""):
    """Assert the answer, and that the card of the score that decides names the limitation."""
    verdict = result.verdicts["leak_free"]
    assert verdict.answer == answer, f"{verdict.answer}: {verdict.summary}"
    assert disclosed in verdict.score.describe(), verdict.score.describe()


def one_vector_of_thirty():
    """Let one concept vector of 30 tell the whole label."""
    random = np.random.default_rng(0)
    truth, labels = random.random((200, 30)) < 0.5, random.integers(0, 2, 200)
    vectors = truth[..., None] + random.normal(size=(200, 30, 2))
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


for row in (one_vector_of_thirty, corrections_change_nothing, edits_move_all_concepts):
    row()
