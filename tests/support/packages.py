"""Small packages outside ours: built as wheels, and installed into a folder of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "{name}"
version = "1.2"
{entry_points}
"""
TOKENS = '''
"""Relevance of tokens: a kind of evidence, an axis and a score that decides."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from theodolite.evidence.axes import NamedAxis
from theodolite.evidence.base import Evidence, array
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric


@dataclass(frozen=True)
class Tokens(NamedAxis):
    """Places in a text."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PassageEvidence(Evidence):
    """What a method marks in a text, and what people marked in it."""

    kind = "passage"
    version = 1
    marker = "relevance"
    ways = {"located": "what a method and people mark in texts (`relevance`, `rationale`)"}
    relevance: np.ndarray = array("samples", "tokens")
    """How much each token matters."""
    rationale: np.ndarray | None = array("samples", "tokens", content="flag", optional=True)
    """What people marked."""
    tokens: Tokens = Tokens()


def _by_chance(evidence: PassageEvidence) -> PerSample:
    marked = np.asarray(evidence.rationale, float).mean(axis=1)
    return PerSample(marked, np.ones(len(evidence)), np.ones(len(evidence), bool))


@metric(
    "a_token_location", title="Tokens located", version=1, question="located", better="higher",
    bounds=(0.0, 1.0), cite="zhang2018topdown", uses=("relevance", "rationale"),
    nulls=(NullModel("any token", "a token at random", expected=_by_chance, random=False),),
    threshold=0.8,
    card=Card(question="Is the most relevant token marked?", interpretation="1 is always.", limitations="No.", cost="one pass"),
)
class TokenLocation(SampleMean):
    """Samples whose most relevant token people marked."""

    @staticmethod
    def each(evidence: PassageEvidence) -> PerSample:
        """Whether it is."""
        top = evidence.relevance.argmax(axis=1)
        hit = evidence.rationale[np.arange(len(evidence)), top].astype(float)
        return PerSample(hit, np.ones(len(evidence)), np.ones(len(evidence), bool))


def _half(evidence: PassageEvidence, *, over: str) -> PerSample:
    each = TokenMarked.each(evidence)
    return PerSample(np.full_like(each.part, 0.5), each.whole, each.asked)


@metric(
    "token_marked", title="Tokens marked", version=1, question="located", better="higher",
    bounds=(0.0, 1.0), cite="zhang2018topdown", uses=("rationale",), decides=False, detail=True,
    nulls=(NullModel("a coin", "a coin", expected=_half, random=False),),
    card=Card(question="How often is each token marked?", interpretation="1 is always.", limitations="No.", cost="one pass"),
)
class TokenMarked(SampleMean):
    """How often people mark each place."""

    @staticmethod
    def each(evidence: PassageEvidence, *, over: Literal["tokens"] = "tokens") -> PerSample:
        """Whether they do."""
        marked = np.asarray(evidence.rationale, float)
        return PerSample(marked, np.ones_like(marked), np.ones(len(evidence), bool))
'''
FAILING = '''
"""Three scores that fail, each at another stage."""

import numpy as np

from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric


def same(evidence, seed):
    return evidence


def no_null(evidence, seed):
    raise ZeroDivisionError("no null")


def declare(name, null):
    return metric(
        name, title=name, version=1, question="leak_free", better="higher", bounds=(0.0, 1.0),
        cite="x", uses=("right_after",), nulls=(NullModel("nothing", "nothing", make=null),),
        card=Card(question="?", interpretation=".", limitations=".", cost="."),
    )


class Rights(SampleMean):
    @staticmethod
    def each(evidence: InterventionEvidence) -> PerSample:
        right = evidence.right_after[:, 0, 0].astype(float)
        return PerSample(right, np.ones(len(evidence)), np.ones(len(evidence), bool))


@declare("fails_at_value", same)
class AtValue(Rights):
    @staticmethod
    def each(evidence: InterventionEvidence) -> PerSample:
        raise ZeroDivisionError(f"no value {object()}")


@declare("fails_at_null", no_null)
class AtNull(Rights):
    pass


@declare("fails_at_reading", same)
class AtReading(Rights):
    def value(self):
        raise KeyError("no reading")
'''
BROKEN = (
    'from theodolite.evidence.kinds.concept import ConceptEvidence\nraise OSError("no library")\n'
)


def installed(
    folder: Path, name: str, modules: dict[str, str], groups: dict[str, dict[str, str]]
) -> Path:
    """The folder that a package of these modules and entry points was installed into."""
    source, target = folder / "source" / name, folder / "installed" / name
    (source / name).mkdir(parents=True)
    entry_points = "".join(
        f'[project.entry-points."theodolite.{group}"]\n'
        + "".join(f'{key} = "{value}"\n' for key, value in points.items())
        for group, points in groups.items()
    )
    (source / "pyproject.toml").write_text(PROJECT.format(name=name, entry_points=entry_points))
    (source / name / "__init__.py").write_text("")
    for module, text in modules.items():
        (source / name / f"{module}.py").write_text(text)
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "install"]
    offline = ["--no-deps", "--no-index", "--no-build-isolation", "--target", str(target)]
    subprocess.run([*pip, *offline, str(source)], check=True, cwd=folder)
    return target


def run_with(script: str, *arguments: Path | str, package: Path | None = None) -> str:
    """What a script prints in a process of its own, which has a package besides ours or not."""
    places = [str(ROOT / "src"), str(ROOT / "tests"), *([] if package is None else [str(package)])]
    places.append(os.environ.get("PYTHONPATH", ""))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "NO_COLOR": "1", "COLUMNS": "200"}
    env.pop("PYTHONWARNINGS", None)
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout
