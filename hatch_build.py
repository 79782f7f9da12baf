"""Compile the C kernels and generate the functions of metrics for the wheel.

The wheel is for one platform and every Python, as nothing in the library knows Python. Without a C
compiler it is for all platforms, and numpy does what the library would. To build for another
platform set `CC` to a cross compiler, such as
`python -m ziglang cc -target aarch64-linux-gnu.2.17`, and `THEODOLITE_PLATFORM` to the tag of its
wheels, such as `manylinux_2_17_aarch64`.
"""

import importlib.util
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path(__file__).parent / "src"
NATIVE = SOURCE / "theodolite" / "_stats" / "native"
EDITABLE = "editable"


class NativeLibrary(BuildHookInterface[Any]):
    """Adds the compiled library to the wheel, and the platform to its name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write both: next to the sources for an editable installation, otherwise to the wheel."""
        _write_functions()
        folder = NATIVE if version == EDITABLE else Path(tempfile.mkdtemp())
        library = _build().compile_into(folder)
        if library is None:
            self.app.display_warning("no C compiler that works: this wheel has no compiled loops")
        elif version != EDITABLE:
            build_data["force_include"][str(library)] = f"theodolite/_stats/native/{library.name}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_platform()}"


def _write_functions() -> None:
    """Generate the functions of metrics from their declarations, in a process of its own."""
    code = "from theodolite.metrics.generate import write_functions; write_functions()"
    paths = os.pathsep.join([str(SOURCE), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)  # noqa: S603


def _build() -> ModuleType:
    """The module that compiles, without the package around it: numpy may not be here."""
    spec = importlib.util.spec_from_file_location("native_build", NATIVE / "build.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{NATIVE / 'build.py'} cannot be read")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _platform() -> str:
    """The tag of this machine; a Python for two processors compiles for the one it runs on."""
    chosen = os.environ.get("THEODOLITE_PLATFORM")
    if not chosen and sys.platform == "darwin":
        chosen = f"macosx_11_0_{platform.machine()}"
    return chosen or sysconfig.get_platform().replace("-", "_").replace(".", "_")
