"""Commands for packages that build on theodolite: ``python -m theodolite.ext functions …``."""

import argparse
import difflib
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from theodolite.errors import EvidenceError
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue


def main(arguments: Sequence[str] | None = None) -> int:
    """Write, or check, the functions of the metrics that a module declares."""
    parser = argparse.ArgumentParser(prog="python -m theodolite.ext", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    functions = commands.add_parser("functions", help="typed functions of a module's metrics")
    functions.add_argument("module", help="the module with the metrics, such as mypackage.metrics")
    functions.add_argument("--out", type=Path, required=True, help="the .py file to write")
    functions.add_argument(
        "--check", action="store_true", help="write nothing; exit code 1 if the file differs"
    )
    options = parser.parse_args(arguments)
    text = functions_of(options.module)
    if not options.check:
        options.out.write_text(text, encoding="utf-8")
        return 0
    present = options.out.read_text(encoding="utf-8") if options.out.exists() else ""
    lines = difflib.unified_diff(present.splitlines(), text.splitlines(), lineterm="", n=1)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return int(text != present)


def functions_of(module: str) -> str:
    """A module of functions for the metrics that a module, or those inside a package, declare."""
    generator = importlib.import_module("theodolite.metrics.generate")
    metrics = metrics_of(module)
    if not metrics:
        raise EvidenceError("functions", f"no metric in {module!r}", "a module with @metric(...)")
    title = f"The metrics of {module} as functions."
    text: str = generator.module(metrics, title, calls_from="theodolite.ext")
    return text


def metrics_of(module: str) -> list[Metric]:
    """Those that a module, or a module inside of it, declares."""
    importlib.import_module(module)
    homes = {metric.name: metric.state.__module__ for metric in catalogue().values()}
    return [
        catalogue()[name]
        for name, home in homes.items()
        if home == module or home.startswith(f"{module}.")
    ]


if __name__ == "__main__":
    sys.exit(main())
