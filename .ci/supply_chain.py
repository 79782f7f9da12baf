"""What the released wheel brings along: a bill of materials, and whether anything in it is known
to be unsafe.

    python supply_chain.py PYTHON FOLDER

PYTHON is that of an environment with nothing but the wheel and what it needs.
"""

import json
import subprocess
import sys
from pathlib import Path

python, out = sys.argv[1], Path(sys.argv[2])
bill = out / "theodolite.cdx.json"
subprocess.run(["cyclonedx-py", "environment", python, "--of", "JSON", "-o", bill], check=True)
parts = {part["name"].lower() for part in json.loads(bill.read_text("utf-8"))["components"]}
needed = {"theodolite", "numpy", "pyarrow", "pydantic", "jinja2"}
assert needed <= parts, f"the bill of materials lacks {needed - parts}"
print(f"bill of materials: {len(parts)} packages in {bill.name}")

ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
packages = subprocess.check_output([python, "-c", ask], text=True).strip()
told = subprocess.run(
    ["pip-audit", "--path", packages, "--format", "json", "--progress-spinner", "off"],
    capture_output=True, text=True, check=False,
)  # fmt: skip
try:
    found = json.loads(told.stdout)["dependencies"]
except (json.JSONDecodeError, KeyError):
    print("pip-audit: no advisories could be had here:", told.stderr.strip().splitlines()[-1][:200])
    sys.exit(0)
unsafe = {one["name"]: [v["id"] for v in one["vulns"]] for one in found if one.get("vulns")}
assert not unsafe, f"known to be unsafe: {unsafe}"
asked = [one for one in found if "vulns" in one]
print(f"pip-audit: {len(asked)} of {len(found)} packages looked up, none known to be unsafe")
