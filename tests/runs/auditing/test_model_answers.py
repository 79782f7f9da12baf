"""Answers of a model that stays where it is: from a file, through the command line."""

from pathlib import Path

import numpy as np
import pytest

import theodolite
from support.runs.command_line import theodolite as command
from theodolite._runs.auditing.model_answers import with_model_answers
from theodolite._runs.auditing.reading import read_source
from theodolite.errors import EvidenceError


def respond(rows: np.ndarray) -> np.ndarray:
    return np.where(rows[:, 2] > 0, rows[:, 0], rows[:, 1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Attributions of a gate, and what the model answers to the rows of their plan."""
    place = tmp_path_factory.mktemp("tables")
    random = np.random.default_rng(0)
    inputs, background = random.normal(size=(100, 6)), random.normal(size=(30, 6))
    values = np.zeros(inputs.shape)
    values[:, 0] = np.where(inputs[:, 2] > 0, inputs[:, 0], 0.0)
    values[:, 1] = respond(inputs) - values[:, 0]
    arrays = {"values": values, "inputs": inputs, "background": background}
    np.savez(place / "attributions.npz", **arrays, output=respond(inputs), base=0.0)
    evidence = theodolite.AttributionEvidence(**arrays, output=respond(inputs))
    plan = theodolite.attribution_plan(evidence, draws=5)
    answers = respond(plan.rows)
    np.savez(place / "short.npz", answers=answers[:-5], draws=5)
    np.savez(place / "answers.npz", answers=answers, draws=5)
    return place


def test_answers_in_a_file_are_those_of_the_model(folder: Path) -> None:
    attributions = read_source(folder / "attributions.npz")
    ((bundle,),) = with_model_answers(attributions, folder / "answers.npz").evidence
    asked = theodolite.attribution_plan(attributions.first[0], draws=5).ask(respond)
    np.testing.assert_array_equal(bundle.removed, asked.removed)
    np.testing.assert_array_equal(bundle.change, asked.change)


def test_the_command(folder: Path) -> None:
    done = command(
        "audit", str(folder / "attributions.npz"), "--model-answers", str(folder / "answers.npz"),
        "--resamples", "50",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "attribution_fit" in done.stdout and "of the best possible" in done.stdout


def test_refused(folder: Path) -> None:
    attributions = read_source(folder / "attributions.npz")
    with pytest.raises(EvidenceError, match="one for each row of the plan"):
        with_model_answers(attributions, folder / "short.npz")
    np.savez(folder / "wrong.npz", reply=np.zeros(3))
    with pytest.raises(EvidenceError, match=r"needed `answers`"):
        with_model_answers(attributions, folder / "wrong.npz")
    np.savez(folder / "concepts.npz", values=np.eye(4), truth=np.eye(4))
    with pytest.raises(EvidenceError, match=r"no attributions in .concepts\.npz."):
        with_model_answers(read_source(folder / "concepts.npz"), folder / "answers.npz")
    with pytest.raises(EvidenceError, match="no attributions in a network"):
        with_model_answers(None, folder / "answers.npz")
