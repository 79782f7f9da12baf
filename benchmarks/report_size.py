"""How heavy a report with many rows is, and how soon it answers in a browser.

Writes a run folder with as many units and samples as asked for through the library's own writers,
builds the report, and opens it in Chromium. Run: python benchmarks/report_size.py
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.folder.run_records import ExplanationRecord, ProducedRecord, build_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._storage.records import write_record
from theodolite._storage.tables import write_parquet
from theodolite._verdicts.conflicts.record import ConflictsFile
from theodolite._verdicts.scores_file import scores_file, write_scores
from theodolite.metrics.catalogue import catalogue
from theodolite.report.html import write_report
from theodolite.results import Detail, Interval, Null, Score

UNIT_METRICS = ("unit_iou", "detection_accuracy")
SAMPLE_METRICS = ("concept_existence", "concept_location", "pointing_game")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def drawn_values(rows: int, seed: int) -> np.ndarray:
    """Made-up shares, one in fifty undefined."""
    random = np.random.default_rng(seed)
    values = random.beta(2, 8, rows)
    values[random.random(rows) < 0.02] = np.nan
    return values


def unit_score(metric: str, names: tuple[str, ...], values: np.ndarray) -> Score:
    """A score of every unit with intervals and a null."""
    entry = catalogue()[metric]
    low, high = np.maximum(values - 0.03, 0), np.minimum(values + 0.03, 1)
    mean = float(np.nanmean(values))
    undefined = int(np.isnan(values).sum())
    return Score(
        metric, entry.version, entry.question, mean, entry.better, entry.bounds, 1.0,
        len(names) - undefined, undefined, "units", options=entry.options() | {"over": "units"},
        intervals=(Interval(mean - 0.001, mean + 0.001, 0.95, "units", "percentile", 1000),),
        nulls=(Null("shuffled", 0.02, None),), detail=Detail("units", names, values, low, high),
    )  # fmt: skip


def write_run(folder: Path, rows: int, names: tuple[str, ...] | None = None) -> Path:
    """A run folder with so many units and samples; nothing is computed."""
    random = np.random.default_rng(0)
    units = names or tuple(f"layer4.2.conv3/{i}" for i in range(rows))
    folder.mkdir(parents=True, exist_ok=True)
    spec = RunSpec(name="many", title=f"{rows:,} units and samples", evidence=["x"])
    write_record(folder / "run.json", build_run_record(spec, "python benchmarks/report_size.py"))
    write_record(
        folder / "produced.json", ProducedRecord(explained=ExplanationRecord(), seconds_scoring=0.0)
    )
    scores = [
        unit_score(metric, units, drawn_values(rows, seed))
        for seed, metric in enumerate(UNIT_METRICS, start=1)
    ]
    write_scores(folder / "scores.json", scores_file(scores, [], []))
    write_record(folder / "conflicts.json", ConflictsFile(verdicts=[], judged=[], conflicts=[]))
    samples = [f"images/{i:06d}.jpg" for i in range(rows)]
    values = random.integers(0, 6, (len(SAMPLE_METRICS), rows)) / 5
    missing = random.random(values.shape) < 0.05
    write_parquet(
        folder / "per_sample.parquet",
        {
            "sample": samples * len(SAMPLE_METRICS),
            "metric": [m for m in SAMPLE_METRICS for _ in range(rows)],
            "options": ["top=5"] * (rows * len(SAMPLE_METRICS)),
            "value": [None if gone else float(v) for v, gone in
                      zip(values.ravel(), missing.ravel(), strict=True)],
        },
    )  # fmt: skip
    return folder


def answered(page: Any, act: str) -> float:
    """Milliseconds from an act until the next frame shows its outcome."""
    script = """async (act) => {
      const begun = performance.now();
      (0, globalThis.acts[act])();
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      return performance.now() - begun; }"""
    return float(page.evaluate(script, act))


ACTS = """() => {
  const one = document.querySelector(".explorer:not([hidden])");
  const turn = i => () => one.querySelectorAll(".pager button")[i].click();
  globalThis.acts = {
    next: turn(2), last: turn(3),
    sort: () => one.querySelectorAll("thead button")[2].click(),
    back: () => one.querySelectorAll("thead button")[2].click(),
    name: () => one.querySelectorAll("thead button")[0].click(),
    filter: () => { const search = one.querySelector("input[type=search]");
      search.value = "77"; search.dispatchEvent(new Event("input")); },
    open: () => one.querySelector("tbody button").click(),
  };
}"""


def opened(report: Path, path: str) -> dict[str, float]:
    """Seconds until the first page of rows can be turned, then milliseconds of each act."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        begun = time.monotonic()
        page.goto(report.as_uri(), wait_until="commit")
        page.wait_for_selector(".explorer[data-ready] tbody tr", state="attached")
        result = {"first rows, s": time.monotonic() - begun}
        page.evaluate(ACTS)
        for act in ("next", "last", "sort", "back", "name", "filter", "open"):
            result[f"{act}, ms"] = answered(page, act)
        browser.close()
    return result


def measured(rows: int) -> dict[str, float]:
    """All numbers of one size."""
    with tempfile.TemporaryDirectory() as place:
        folder = write_run(Path(place) / "run", rows)
        begun = time.monotonic()
        report = write_report(folder)
        result = {"build, s": time.monotonic() - begun, "size, MB": report.stat().st_size / 1e6}
        path = shutil.which("chromium")
        return result | (opened(report, path) if path else {})


def main() -> None:
    """Print both sizes, and last how many times more the larger one takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    given = parser.parse_args()
    write_report(write_run(Path(tempfile.mkdtemp()) / "warm", 300))  # imports, and the bundle
    small, large = measured(1000), measured(given.rows)
    print(f"{'':16}{'1,000':>12}{given.rows:>12,}{'ratio':>10}")
    for name, value in large.items():
        print(f"{name:16}{small[name]:12.2f}{value:12.2f}{value / small[name]:10.1f}")


if __name__ == "__main__":
    main()
