"""Whatever a file says, the answer is a score or one line that refuses it: never a traceback."""

import copy
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from theodolite._planted.concepts import planted_locations
from theodolite._runs.auditing.front import audit
from theodolite._runs.folder.checksums import (
    SEAL,
    _format_checksum_line,
    verify_checksums,
    write_checksums,
)
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.recomputation import recompute
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite._scoring.evaluate import Resampling
from theodolite.errors import EvidenceError
from theodolite.evidence.files import load, save
from theodolite.report.html import write_report

ODD = [None, True, -1, 0, 1e300, float("nan"), "", "../x", "/etc/passwd", [], {}, [1, 2], "a" * 300,
       10**30, {"a": 1}, [[1]], "uint8", "bits", "<b>", "\x00", -0.5]  # fmt: skip
QUICK = Resampling(resamples=20, shuffles=20)


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a JSON document."""
    if path:
        yield path
    inside = enumerate(document) if isinstance(document, list) else document.items()
    for key, value in inside:
        if isinstance(value, list | dict):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def changed_json(document: Any, chance: random.Random) -> Any:
    """The document with one thing deleted, added or replaced by something odd."""
    document = copy.deepcopy(document)
    *path, last = chance.choice(list(places(document)))
    holder = document
    for key in path:
        holder = holder[key]
    if chance.random() < 0.2:
        del holder[last]
    elif chance.random() < 0.1 and isinstance(holder, dict):
        holder[chance.choice(["x", "../y", "values"])] = chance.choice(ODD)
    else:
        holder[last] = chance.choice(ODD)
    return document


def changed_bytes(content: bytes, chance: random.Random) -> bytes:
    """The bytes with a few overwritten, mostly at the front, or the end cut off."""
    raw = bytearray(content)
    for _ in range(chance.choice([1, 1, 3, 20])):
        reach = min(len(raw), 200) if chance.random() < 0.7 else len(raw)
        raw[chance.randrange(reach)] = chance.randrange(256)
    if chance.random() < 0.2:
        del raw[chance.randrange(1, len(raw)) :]
    return bytes(raw)


def answers_or_refuses(action: Callable[[], object]) -> None:
    try:
        action()
    except EvidenceError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_changed_evidence(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    save(planted_locations(8, 5), tmp_path / "whole")
    files = sorted(p for p in (tmp_path / "whole").rglob("*") if p.is_file())
    for number in range(25):
        folder = tmp_path / f"{number}"
        shutil.copytree(tmp_path / "whole", folder)
        file = folder / chance.choice(files).relative_to(tmp_path / "whole")
        if file.suffix == ".json" and chance.random() < 0.8:
            file.write_text(json.dumps(changed_json(json.loads(file.read_text()), chance)))
        else:
            file.write_bytes(changed_bytes(file.read_bytes(), chance))
        answers_or_refuses(lambda folder=folder: audit(load(folder), QUICK))  # type: ignore[misc]


@pytest.mark.parametrize("name", ["run.json", "produced.json", "scores.json", "manifest.json"])
def test_changed_runs(tmp_path: Path, name: str) -> None:
    """Sealed again by whoever changed them, so that the digests do not help."""
    chance = random.Random(name)  # noqa: S311
    save(planted_locations(8, 5), tmp_path / "given")
    spec = RunSpec.model_validate(
        {
            "name": "a",
            "evidence": ["given"],
            "resampling": {"resamples": 20},
            "metrics": [{"name": "concept_existence"}, {"name": "pointing_game"}],
        }
    )
    whole = tmp_path / "whole"
    whole.mkdir()
    run(spec, RunPaths(tmp_path, whole, tmp_path / "cache"))
    for number in range(5):
        folder = tmp_path / f"{number}"
        shutil.copytree(whole, folder)
        write_checksums(folder)
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(changed_json(content, chance)))
        if name == "manifest.json":
            (folder / SEAL).write_text(_format_checksum_line(folder))
        else:
            write_checksums(folder)
        for action in (verify_checksums, recompute, write_report):
            answers_or_refuses(lambda action=action, folder=folder: action(folder))  # type: ignore[misc]
