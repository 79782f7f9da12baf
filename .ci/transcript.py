"""From `pip install` of the wheel to a report, with nothing but what a page of the docs says.

    python transcript.py WHEEL PAGE FOLDER

Makes an empty environment in FOLDER, takes commands, files and code from the page in their order,
as a reader would, and prints what was typed and what came. Stops where the page asks for more than
the base install.
"""

import re
import subprocess
import sys
import time
import venv
from pathlib import Path

wheel, page, folder = (Path(given).resolve() for given in sys.argv[1:])
BLOCK = re.compile(r"^(?:<!-- exit: (\d+) -->\n)?```(python|console|yaml)\n(.*?)^```", re.M | re.S)
LAST = "## A network"


def typed(command: str, code: int = 0) -> None:
    """Run a command as it stands, in the environment."""
    start = time.monotonic()
    told = subprocess.run(
        f". env/bin/activate && {command}", shell=True, cwd=folder, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, executable="/bin/bash",
    )  # fmt: skip
    shown = [line for line in told.stdout.splitlines() if line.strip()]
    print(f"$ {command}\n" + "\n".join(f"  {line[:150]}" for line in shown[-12:]))
    print(f"  ({time.monotonic() - start:.1f} s, exit code {told.returncode})\n")
    assert told.returncode == code, f"{command}: {told.returncode}, promised {code}"


folder.mkdir(parents=True)
venv.create(folder / "env", with_pip=True)
text = page.read_text("utf-8").partition(LAST)[0]
(install,) = re.findall(r"`(pip install theodolite-\S+\.whl)`", text)
(folder / wheel.name).write_bytes(wheel.read_bytes())
assert install.split()[-1] == wheel.name, f"the page says {install.split()[-1]}, built {wheel.name}"
typed(install.replace("install", "install -q --no-compile --disable-pip-version-check", 1))
for code, kind, block in BLOCK.findall(text):
    before = text[: text.index(block)]
    file = re.findall(r"`(\w+\.(?:py|yaml))`", before)[-1:]
    if kind == "console":
        for line in block.splitlines():
            typed(line.removeprefix("$ "), int(code or 0))
    elif kind == "yaml":
        (folder / file[0]).write_text(block, "utf-8")
    else:
        name = "own.py" if (folder / "strokes.py").exists() else "strokes.py"
        (folder / name).write_text(block, "utf-8")
        typed(f"python {name}")
assert (folder / "runs/soft/report.html").is_file()
print("report: runs/soft/report.html")
