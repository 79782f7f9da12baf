"""Write what follows from the declarations of metrics, or say what differs."""

import argparse
import difflib
import sys
from pathlib import Path

from theodolite.metrics.generate import written_files


def differences(files: dict[Path, str]) -> str:
    """What the files hold and what they must, as a diff; nothing where they agree."""
    lines: list[str] = []
    for path, text in files.items():
        present = path.read_text(encoding="utf-8") if path.exists() else ""
        lines += difflib.unified_diff(
            present.splitlines(), text.splitlines(), str(path), "declarations", lineterm="", n=1
        )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Write, or with ``--check`` only compare."""
    parser = argparse.ArgumentParser("python -m theodolite.metrics", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args(arguments)
    files = written_files()
    text = differences(files)
    if not options.check:
        for path, content in files.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
    sys.stdout.write(text + "\n" if text else "")
    return int(bool(text) and options.check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
