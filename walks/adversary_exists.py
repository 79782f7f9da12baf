"""Try to obtain "yes" for a bad explanation: is the named concept in the input?

Each function is a row of ``docs/adversary.md``: a bad explanation, and what the audit says of it.
"""

import tempfile
from pathlib import Path

import numpy as np

import theodolite

SCORES = ["concept_existence"]  # it decides; the others take most of the time


def check(result, answer, disclosed=""):
    """Assert the answer, and that the card of the score that decides names the limitation."""
    verdict = result.verdicts["exists"]
    assert verdict.answer == answer, f"{verdict.answer}: {verdict.summary}"
    assert disclosed in verdict.score.describe(), verdict.score.describe()


def most_frequent():
    """Name the most frequent concepts for every sample."""
    random = np.random.default_rng(0)
    truth = random.random((5000, 12)) < np.linspace(0.1, 0.7, 12)
    values = truth.mean(axis=0) + 0.001 * random.normal(size=truth.shape)
    check(theodolite.audit(values=values, truth=truth, metrics=SCORES), "no")


def class_only():
    """Look at no concept: a head that knows the class, and true concepts copied from the class."""
    random = np.random.default_rng(0)
    belongs = random.random((12, 4)) < 0.5
    labels = random.integers(0, 4, 400)
    result = theodolite.audit(
        values=1 + 0.01 * random.normal(size=(400, 12)), truth=belongs[:, labels].T, labels=labels,
        predicted=labels, weights=belongs + 0.0, metrics=SCORES,
    )  # fmt: skip
    check(result, "yes", "Presence copied from the class")


def unused_concepts():
    """Detect concepts well, predict by another one, and leave out the head."""
    random = np.random.default_rng(0)
    truth = random.random((400, 12)) < 0.4
    values = truth + 0.1 * random.normal(size=truth.shape)
    check(
        theodolite.audit(values=values, truth=truth, metrics=SCORES),
        "yes",
        "Ranking by the concept's value",
    )
    head = np.full((12, 2), -0.1)
    head[0] = 1.0  # the only concept that speaks for a prediction
    predicted = random.integers(0, 2, 400)
    result = theodolite.audit(
        values=values, truth=truth, weights=head, predicted=predicted, metrics=SCORES
    )
    check(result, "no")


def one_fact_under_many_names():
    """Tell one bit of every sample, under six names and their six opposites."""
    random = np.random.default_rng(0)
    bit = random.random((400, 1)) < 0.5
    truth = np.hstack([bit] * 6 + [~bit] * 6)
    values = truth + 0.1 * random.normal(size=truth.shape)
    check(
        theodolite.audit(values=values, truth=truth, metrics=SCORES),
        "yes",
        "one fact under several names",
    )


def mistakes_declared_unknown():
    """Guess every concept, and declare the truth unknown where the guess is wrong."""
    random = np.random.default_rng(0)
    truth = random.random((400, 12)) < 0.4
    values = random.random(truth.shape)
    known = (values > 0.5) == truth
    result = theodolite.audit(values=values, truth=truth, known=known, metrics=SCORES)
    check(result, "yes", "mistakes that were declared unknown")


def fitted_to_the_samples():
    """Fit noise to the true concepts of the very samples that are audited."""
    random = np.random.default_rng(0)
    truth = random.random((60, 12)) < 0.4
    noise = random.normal(size=(60, 100))
    values = noise @ np.linalg.lstsq(noise, truth + 0.0, rcond=None)[0]
    check(
        theodolite.audit(values=values, truth=truth, metrics=SCORES),
        "yes",
        "fitted to or chosen on",
    )


def samples_left_out():
    """Guess, and bring only the samples where most guesses are right."""
    random = np.random.default_rng(0)
    truth = random.random((20_000, 12)) < 0.4
    values = random.random(truth.shape)
    right = ((values > 0.5) == truth).sum(axis=1)
    kept = right > 10
    result = theodolite.audit(values=values[kept], truth=truth[kept], metrics=SCORES)
    check(result, "yes")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        result.report(page)
        text = page.read_text("utf-8")
    assert "Results can differ on other data sets" in text
    assert "mistakes that were declared unknown" in text  # the report has all limitations


def head_copied_from_annotation():
    """Give a head that repeats the annotation of classes, with values that never change."""
    random = np.random.default_rng(0)
    belongs = (random.random((30, 4)) < 0.5) + 0.0
    labels = random.integers(0, 4, 400)
    result = theodolite.audit(
        values=1 + 0.01 * random.normal(size=(400, 30)), labels=labels, predicted=labels,
        class_truth=belongs, weights=belongs + 0.15 * random.normal(size=belongs.shape),
    )  # fmt: skip
    check(result, "yes", "whatever the values are")


def all_concepts_follow_each_edit():
    """Move every concept with each edit, whichever concept was edited."""
    random = np.random.default_rng(0)
    direction = random.choice([-1, 1], 100)
    before = random.random((100, 4))
    result = theodolite.audit(
        edited=random.integers(0, 4, 100), direction=direction, before=before,
        after=before + direction[:, None],
    )  # fmt: skip
    check(result, "inconclusive")


def edits_hardly_move():
    """Move the edited concept the right way, by a millionth."""
    random = np.random.default_rng(0)
    edited, direction = random.integers(0, 4, 100), random.choice([-1, 1], 100)
    before = random.random((100, 4))
    after = before.copy()
    after[np.arange(100), edited] += 1e-6 * direction
    result = theodolite.audit(edited=edited, direction=direction, before=before, after=after)
    check(result, "yes", "how far it moved")


def latents_of_length():
    """Name latents that follow the length of a text after concepts of long texts."""
    random = np.random.default_rng(0)
    lengths = random.integers(5, 40, 200)
    truth = (lengths > 20)[:, None] ^ (random.random((200, 3)) < 0.05)
    result = theodolite.audit(
        tokens=[random.integers(0, 50, n).tolist() for n in lengths],
        latent=[[[0]] * n for n in lengths], value=[[[float(n)]] * n for n in lengths],
        truth=truth, latents=["war"], concepts=["war", "army", "treaty"],
        chance_pooled=random.random((200, 20, 1)),
    )  # fmt: skip
    check(result, "yes", "the length of the text")


for row in (
    most_frequent, class_only, unused_concepts, one_fact_under_many_names,
    mistakes_declared_unknown, fitted_to_the_samples, samples_left_out,
    head_copied_from_annotation, all_concepts_follow_each_edit, edits_hardly_move,
    latents_of_length,
):  # fmt: skip
    row()
