"""Rebuild the golden set: results of 17 runs that refactoring must not change.

    python tests/golden/build.py tests/golden/expected

Each run is made through the command line or a public function, from evidence in
`tests/golden/inputs`. Of each run the set keeps `scores.json`, the text of its report, and digests
of everything else that has numbers.
"""

import hashlib
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import theodolite
from support.runs.command_line import theodolite as run_command

INPUTS = Path(__file__).with_name("inputs")
KINDS = (
    "attribution", "concept", "edit", "embedding", "intervention", "judgment", "location",
    "rating", "saliency", "surrogate", "token", "unit",
)  # fmt: skip
RESAMPLES = 50
SPEC = """
name: stored
evidence: [shards]
resampling: {{resamples: {resamples}, clusters: none}}
"""
GATE = {
    "questions": {"exists": "yes", "leak_free": "partly"},
    "scores": [{"metric": "concept_existence", "at_least": 0.5}],
}
BLOCKS = frozenset(
    [
        "p",
        "div",
        "section",
        "h1",
        "h2",
        "h3",
        "h4",
        "tr",
        "li",
        "dt",
        "summary",
        "table",
        "figure",
        "text",
    ]
)
UNSTABLE = re.compile(
    r"\d{4}-\d{2}-\d{2}(T[\d:+.Z]+)?|\d+\.\d+\.\d+(\+[0-9a-f]+)?|\b[0-9a-f]{12,64}\b|\d+(\.\d+)? s\b"
    r"|Python \d\S*|/\S*/"
)
"""Dates, versions, digests, durations and paths: they differ between machines."""


class Text(HTMLParser):
    """Collect the text nodes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("script", "style")
        if tag in BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.parts.append(" ".join(data.split()))


def read_text(page: Path) -> str:
    """Return the text of a page, one line per block, without what differs between machines."""
    text = Text()
    text.feed(page.read_text("utf-8"))
    lines = (" ".join(line.split()) for line in " ".join(text.parts).splitlines())
    return UNSTABLE.sub("*", "\n".join(filter(None, lines))) + "\n"


def hash_table(path: Path) -> str:
    """Hash the values of a Parquet file: its bytes name the version of the writer."""
    content = pq.read_table(path).to_pydict()
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def hash_folder(folder: Path) -> dict[str, str]:
    """Hash tables, evidence and conflicts of a run folder; names of shards depend on the code."""
    paths = [path for path in folder.rglob("*.parquet") if path.name != "pieces.parquet"]
    tables = {path.relative_to(folder).as_posix(): hash_table(path) for path in paths}
    files = [*folder.glob("evidence/**/*.npy"), *folder.glob("conflicts.json")]
    hashes = {f.relative_to(folder).as_posix(): hash_bytes(f.read_bytes()) for f in files}
    return dict(sorted((tables | hashes).items()))


def hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def call(*arguments: object, code: int = 0) -> str:
    """Run a command and return what it printed."""
    result = run_command(*arguments)
    assert result.returncode == code, result.stderr
    return result.stdout


def keep_run(folder: Path, out: Path) -> None:
    """Copy what the golden set keeps of a run folder."""
    out.mkdir(parents=True)
    write_lines(out / "scores.txt", json.loads((folder / "scores.json").read_bytes()))
    (out / "report.txt").write_text(read_text(folder / "report.html"), "utf-8")
    write_json(out / "digests.json", hash_folder(folder))


def write_lines(path: Path, content: dict[str, object]) -> None:
    """Write a record with one line per item of its lists."""
    lines = []
    for key, value in content.items():
        items = value if isinstance(value, list) else [value]
        lines += [f"{json.dumps(key)}: {json.dumps(item, sort_keys=True)}" for item in items]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")


def build_audit(kind: str, work: Path, out: Path) -> None:
    """Audit evidence of one kind."""
    call("audit", INPUTS / kind, "--out", work / kind, "--resamples", RESAMPLES, "--quiet")
    keep_run(work / kind, out / kind)


def build_stored(work: Path, out: Path, *options: str, name: str = "stored") -> None:
    """Run a spec over evidence in shards."""
    data = work / f"data_{name}"
    call("data", "store", INPUTS / "concept", data / "shards", "--rows", 40)
    (work / f"{name}.yaml").write_text(SPEC.format(resamples=RESAMPLES))
    folders = ("--data", data, "--out", work / name, "--quiet")
    call("run", work / f"{name}.yaml", *folders, *options)
    keep_run(work / name, out / name)


def build_dissection(out: Path) -> None:
    """Dissect units that detect planted concepts."""
    random = np.random.default_rng(0)
    masks = random.random((12, 4, 8, 8)) < 0.3
    noise = random.random((12, 3, 8, 8))
    activations = noise + 2 * np.stack([masks[:, 0], masks[:, 1] | masks[:, 2], masks[:, 3]], 1)
    result = theodolite.dissect(activations, masks, list("abcd"), quantile=0.7)
    write_json(out / "dissection" / "records.json", result.to_records())


def build_comparison(work: Path, out: Path) -> None:
    """Compare two runs on the same samples, and gate one."""
    page = work / "compared.html"
    other = work / "concept_permuted"
    arrays = theodolite.load(INPUTS / "concept")
    changed = np.roll(arrays.values, 1, axis=1)
    evidence = theodolite.ConceptEvidence(
        values=changed, truth=arrays.truth, labels=arrays.labels, predicted=arrays.predicted,
        weights=arrays.weights, class_truth=arrays.class_truth,
    )  # fmt: skip
    theodolite.audit(evidence, resamples=RESAMPLES).save(other)
    printed = call("compare", work / "concept", other, "--out", page, "--json")
    write_json(out / "comparison" / "compared.json", json.loads(printed))
    (out / "comparison" / "page.txt").write_text(read_text(page), "utf-8")
    result = theodolite.gate(work / "concept", GATE)
    sentences = [check.sentence for check in result.checks]
    write_json(out / "gate" / "checks.json", {"passed": bool(result), "sentences": sentences})


def build(out: Path, work: Path, *, ray: bool) -> None:
    """Write the golden set to a new folder."""
    for kind in KINDS:
        build_audit(kind, work, out)
    build_stored(work, out)
    if ray:
        build_stored(work, out, "--engine", "ray", "--workers", "2", name="ray")
    build_dissection(out)
    build_comparison(work, out)


if __name__ == "__main__":
    import shutil
    import tempfile

    target = Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        build(target, Path(folder), ray="--no-ray" not in sys.argv)
