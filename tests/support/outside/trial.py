"""What a user does who installed both packages; prints what came out as JSON."""

import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

import theodolite
from theodolite.cli import main
from theodolite.testing import check_metric, planted_concepts


def command(*arguments: str) -> tuple[int, str]:
    """A command of ours: its exit code and what it prints."""
    sys.argv = ["theodolite", *arguments]
    with redirect_stdout(io.StringIO()) as printed:
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), printed.getvalue()
    return 0, printed.getvalue()


def audit_with_the_metric(folder: Path) -> dict[str, object]:
    """A whole audit, and one of this metric alone; saved, loaded, reported, held against a gate."""
    evidence = planted_concepts(80)
    whole = theodolite.audit(evidence, resamples=50)
    alone = theodolite.audit(evidence, resamples=50, metrics=["outside_brier"])
    report = whole.save(folder / "run")
    loaded = theodolite.load(folder / "run")
    threshold = {"metric": "outside_brier", "at_most": 1.0, "beats_null": False}
    strict = {"scores": [{**threshold, "at_most": 0.0}]}
    values = [
        [s.value for s in r.scores if s.metric == "outside_brier"] for r in (whole, alone, loaded)
    ]
    return {
        "values": values,
        "alone": sorted({s.metric for s in alone.scores}),
        "nulls": [null.name for null in theodolite.score("outside_brier", evidence).nulls],
        "in_report": "Brier score of another package" in report.read_text(encoding="utf-8"),
        "gate": [
            bool(theodolite.gate(folder / "run", t)) for t in ({"scores": [threshold]}, strict)
        ],
        "card": command("metrics", "outside_brier")[1],
        "others": sorted(
            s.metric + repr(s.value) for s in whole.scores if s.metric != "outside_brier"
        ),
    }


def run_of_the_data_set(folder: Path) -> dict[str, object]:
    """A spec that names the data set and the pipeline, run from the command line."""
    random = np.random.default_rng(0)
    rows = [f"p{i},{'ill' if i % 2 else 'well'},{i % 2},{int(random.random() < 0.3)},{i // 2 % 2}"
            for i in range(60)]  # fmt: skip
    (folder / "clinic").mkdir()
    (folder / "clinic/patients.csv").write_text("\n".join(["id,class,fever,rash,cough", *rows]))
    (folder / "spec.yaml").write_text(
        "name: clinic\ndataset: {name: outside_clinic, root: clinic}\n"
        "pipeline: {name: outside_readings, noise: 0.1}\nseeds: [0, 1]\nresampling: {resamples: 50}\n"
    )
    code, _ = command(
        "run", str(folder / "spec.yaml"), "--data", str(folder), "--out", str(folder / "clinic-run"),
        "--quiet",
    )  # fmt: skip
    loaded = theodolite.load(folder / "clinic-run")
    assert isinstance(loaded, theodolite.Run)
    again = theodolite.audit(folder / "clinic-run", resamples=50)
    answers = {v.question: v.answer for v in loaded.verdicts}
    return {
        "code": code,
        "listed": "outside_clinic" in command("data", "list")[1],
        "answers": answers,
        "same": [s.value for s in loaded.scores] == [s.value for s in again.scores],
        "report": loaded.report.is_file(),
        "gate": [
            bool(theodolite.gate(loaded, {"questions": {question: "partly"}}))
            for question in ("exists", "located")
        ],
        "compared": len(theodolite.compare(loaded, _other(folder)).lines),
    }


def _other(folder: Path) -> Path:
    text = (folder / "spec.yaml").read_text().replace("0.1}", "0.4}")
    (folder / "worse.yaml").write_text(text)
    command(
        "run", str(folder / "worse.yaml"), "--data", str(folder), "--out", str(folder / "worse"),
        "--quiet",
    )  # fmt: skip
    return folder / "worse"


if __name__ == "__main__":
    place = Path(sys.argv[1])
    check_metric("outside_brier", examples=3)
    outcome = {"metric": audit_with_the_metric(place), "dataset": run_of_the_data_set(place)}
    sys.stdout.write(json.dumps(outcome))
