"""Commands for packages that build on theodolite: ``python -m theodolite.ext functions …``."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path


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
    generator = importlib.import_module("theodolite.metrics.generate")
    difference: str = generator.write_functions(options.module, options.out, check=options.check)
    sys.stdout.write(difference)
    return 1 if options.check and difference else 0


if __name__ == "__main__":
    sys.exit(main())
