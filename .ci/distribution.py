"""Build what is released: a source archive, and from nothing but that archive a wheel.

    python distribution.py FOLDER

Runs where hatchling is installed. Prints the wheel's path last.
"""

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

NEEDED = (
    "theodolite/report/templates/report.html.j2",
    "theodolite/report/templates/report.css",
    "theodolite/metrics/references.bib",
    "theodolite/study/demo_scenes/scenes.json",
    "theodolite/study/demo_scenes/windmill_parts.png",
    "theodolite/study/web/templates",
    "theodolite/study/web/static",
    "theodolite/py.typed",
)
FOREIGN = ("tests/", "benchmarks/", "runs/", "docs/")


def build(kind: str, source: Path, out: Path) -> Path:
    """One archive, which is the only one of its kind in the folder."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", out],
        cwd=source,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (found,) = out.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return found


def main() -> None:
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        old.unlink()
    archive = build("sdist", Path.cwd(), out)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        (source,) = Path(folder).iterdir()
        wheel = build("wheel", source, out)
    names = zipfile.ZipFile(wheel).namelist()
    missing = [one for one in NEEDED if not any(name.startswith(one) for name in names)]
    assert not missing, f"the wheel lacks {missing}"
    foreign = [name for name in names if name.startswith(FOREIGN)]
    assert not foreign, f"the wheel has {foreign[:3]}"
    sizes = (f"{one.name}: {one.stat().st_size / 1e6:.1f} MB" for one in (archive, wheel))
    print("; ".join(sizes))
    print(wheel)


main()
