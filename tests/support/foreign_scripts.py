"""What processes of their own do with and without a package outside ours."""

import hashlib
import json
import warnings
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import theodolite
from support.runs.command_line import theodolite as command
from theodolite._planted.examples import plant_example
from theodolite._runs import run as run_module
from theodolite._runs import run_content
from theodolite._runs.folder import run_records
from theodolite._verdicts import answers as answers_module
from theodolite.evidence.plugins import is_ours
from theodolite.evidence.registry import kinds
from theodolite.evidence.store_writer import EvidenceWriter

NOW = datetime(2020, 1, 1, tzinfo=timezone.utc)


def stop_the_clock() -> None:
    """What a run takes, and when, is not what it says."""
    for module in (run_module, run_content, answers_module):
        module.time = SimpleNamespace(monotonic=lambda: 0.0)  # type: ignore[attr-defined]
    run_records.datetime = SimpleNamespace(now=lambda _: NOW)  # type: ignore[attr-defined,misc]


def outputs(evidence: Any, out: Path) -> list[str]:
    """Scores, text, and digests of all files of a run folder, the report among them."""
    result = theodolite.audit(evidence, resamples=20)
    result.save(out)
    files = sorted(path for path in out.rglob("*") if path.is_file())
    digests = [hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in files]
    named = [f"{path.relative_to(out)} {d}" for path, d in zip(files, digests, strict=True)]
    return [repr(result.scores), str(result), *named]


def ours(out: Path, only: str = "") -> None:
    """Of each kind of ours, all that an audit gives."""
    stop_the_clock()
    chosen = {name: kind for name, kind in kinds().items() if is_ours(kind) and only in ("", name)}
    print(json.dumps({n: outputs(plant_example(kind, 0), out / n) for n, kind in chosen.items()}))


def token_arrays() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    rationale = random.random((60, 5)) < 0.3
    return {"relevance": rationale + random.random((60, 5)), "rationale": rationale}


def tokens(out: Path) -> None:
    """All that can be done with the foreign kind."""
    result = theodolite.audit(**token_arrays(), resamples=20)
    result.save(out / "tokens")
    result.report(out / "tokens.html")
    np.savez(out / "tokens.npz", **token_arrays())
    bundle = theodolite.audit(out / "tokens.npz", resamples=20).source.first[0]
    theodolite.audit([bundle, plant_example(kinds()["intervention"], 0)], resamples=20).save(
        out / "both"
    )
    (out / "met.yaml").write_text("scores:\n  - {metric: a_token_location, at_least: 0.6}\n")
    (out / "missed.yaml").write_text("scores:\n  - {metric: a_token_location, at_least: 1.0}\n")
    said = {
        "text": str(result),
        "header": json.loads((out / "tokens/evidence/seed-0/passage/header.json").read_text()),
        "again": repr(theodolite.audit(out / "tokens", resamples=20).scores) == repr(result.scores),
        "planted": repr(plant_example(kinds()["passage"], 0)),
        "evidence": command("evidence", "passage").stdout,
        "listed": command("evidence").stdout,
        "gate": command("gate", out / "tokens", out / "met.yaml").returncode,
        "missed": command("gate", out / "tokens", out / "missed.yaml").returncode,
        "verify": command("verify", out / "tokens", "--recompute", "all").returncode,
        "report": "Tokens located" in (out / "tokens.html").read_text(),
        "pieces": pieces(out / "pieces"),
    }
    print(json.dumps(said))


def pieces(out: Path) -> list[list[str]]:
    """Names of the pieces of a run over stored evidence: of our kind alone, and of both."""
    own = plant_example(kinds()["intervention"], 0)
    bundles = {"own": own, "token": kinds()["passage"](**token_arrays())}
    for name, bundle in bundles.items():
        with EvidenceWriter(out / name) as writer:
            writer.add(bundle)
    names = []
    for run, places in (("alone", ["own"]), ("both", ["own", "token"])):
        arguments = [out / place for place in places]
        done = command("audit", *arguments, "--out", out / run, "--resamples", "20", "--workers", 1)
        assert done.returncode == 0, done.stderr
        names.append(sorted(path.name for path in (out / run / "pieces").iterdir()))
    return names


def without_tokens(out: Path) -> None:
    """Run folders of a package that is not there."""
    opened = theodolite.audit(out / "both", resamples=20)
    alone = command("audit", out / "tokens")
    print(json.dumps({
        "notes": list(opened.notes), "kinds": [b.kind for b in opened.source.first],
        "alone": alone.stderr, "code": alone.returncode,
        "report": command("report", out / "both").returncode,
        "page": "a_token_location" in (out / "both" / "report.html").read_text(),
    }))  # fmt: skip


def faulty(out: Path) -> None:
    """A package of which one module does not load, and whose scores fail."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        own = plant_example(kinds()["intervention"], 0)
        result = theodolite.audit(own, resamples=20)
    (out / "gate.yaml").write_text("scores:\n  - {metric: fails_at_null, at_least: 0.1}\n")
    with EvidenceWriter(out / "stored") as writer:
        writer.add(own)
    arguments = ("--resamples", 20, "--engine", "local", "--workers", 2)
    in_pieces = command("audit", out / "stored", "--out", out / "run", *arguments)
    result.save(out / "memory")
    print(json.dumps({
        "warnings": [str(w.message) for w in caught if w.category is RuntimeWarning],
        "failed": [str(failure) for failure in result.errors],
        "scores": [repr(s) for s in result.scores], "text": str(result),
        "listed": command("evidence").stdout, "code": in_pieces.returncode,
        "gate": command("gate", out / "run", out / "gate.yaml").stdout,
        "recompute": command("verify", out / "run", "--recompute", "all").returncode,
        "recompute memory": command("verify", out / "memory", "--recompute", "all").returncode,
    }))  # fmt: skip
