"""The versions that the checks ran together, as a constraints file of this release.

python constraints.py FOLDER
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def constraints() -> tuple[str, str]:
    """The name of the file, and its lines: every pin, without where a machine keeps its builds."""
    package = (ROOT / "src/theodolite/__init__.py").read_text("utf-8")
    (version,) = re.findall(r'^__version__ = "(\d+\.\d+)', package, re.MULTILINE)
    pins: list[str] = []
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        pins += re.findall(r"^([\w.-]+==[^\s+;]+)", path.read_text("utf-8"), re.MULTILINE)
    head = f"# theodolite {version}: pip install 'theodolite[all]' -c constraints-{version}.txt"
    return f"constraints-{version}.txt", "\n".join([head, *sorted(pins, key=str.lower), ""])


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    name, text = constraints()
    (folder / name).write_text(text, "utf-8")
    print(f"{name}: {text.count('==')} versions")
