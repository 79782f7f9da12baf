"""Find a planted difference of two methods by asking people (needs theodolite[study]).

From arrays to a study folder, to people, to the answer that the study was planned for. People are
scripted: they like the maps of "sharp" 1.5 points better than those of "blurred". Of ten who
arrive, two leave after the first page; of those who agree, some drop out in the middle of an item.
"""

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
from PIL import Image

from theodolite.ext import Answer, Item, material_from_arrays
from theodolite_study.demo.people import Crowd

PORT = 18520
FACTS = {
    "institution": "University", "responsible": "A. Smith, smith@example.org",
    "data_protection": "privacy@example.org",
    "purpose": "We compare how well people like the maps of two methods.",
    "approval": "none, because people are scripted", "legal_basis": "consent",
    "risks": "There are no known risks.", "age_min": 18, "recipients": "This computer",
    "transfer": "none", "until": "2099-12-31", "publish": "no", "authority": "the authority",
}  # fmt: skip
PROGRAM = Path(sys.executable).with_name("theodolite")


def run(*words):
    command = [PROGRAM, *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def open_desk(link, page):
    """Sign in by a link of the desk, and return one of its pages."""
    desk = HTTPConnection("127.0.0.1", PORT + 1)
    desk.request("GET", link)
    answer = desk.getresponse()
    cookies = [line.partition(";")[0] for line in answer.headers.get_all("set-cookie")]
    answer.read()
    desk.request("GET", page, headers={"cookie": "; ".join(cookies)})
    return desk.getresponse().read().decode()


home = tempfile.TemporaryDirectory()
folder, export = Path(home.name) / "my-study", Path(home.name) / "export"
Path(home.name).chmod(0o755)  # PostgreSQL may run as another user

# Twelve images, each with an explanation of two methods.
random, items = np.random.default_rng(0), []
for number in range(12):
    image = Image.fromarray(random.integers(0, 256, (48, 64, 3), np.uint8))
    for method in ("sharp", "blurred"):
        shown = Answer(image=image, predicted="cat", map=random.normal(size=(48, 64)))
        items.append(Item(image_key=f"image {number}", technique=method, shown=shown))
material_from_arrays(items, folder)

# One command makes the study; study.yaml has a line for each fact of the consent form.
run("study", "init", folder, "--out", folder, "--slug", "maps", "--quota", 12)
settings = folder / "study.yaml"
text = settings.read_text().replace("pay:  ", "pay: none  ")
for name, value in FACTS.items():
    text = re.sub(rf"(?m)^  {name}: .*$", f"  {name}: {json.dumps(value)}", text)
settings.write_text(text + "patience: {before: 4, after: 4}\n")

# One command serves it: database, pages, desk and jobs.
serve = [PROGRAM, "study", "serve", folder, "--port", str(PORT), "--workers", "1"]
serving = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
try:
    pages, desk_link = (serving.stdout.readline().split()[1] for _ in range(2))
    taste = {"sharp": 0.75, "blurred": -0.75}
    crowd = Crowd(pages.removesuffix("/s/maps"), "maps", folder, taste)
    met = crowd.send(["finish", "abandon", "finish", "drop out", "finish"] * 2 + ["drop out"])
    while "120 of 120" not in run("study", "status", folder):
        assert sum(met.values()) < 60
        time.sleep(4)  # a place is free again after four seconds of silence
        met += crowd.send(["finish"] * 4, first=sum(met.values()))
    assert met["abandoned"] == 2
    assert met["dropped out"] >= 2

    # The command and the desk show the answer that the study was planned for.
    result = run("study", "results", folder)
    print(result)
    assert "sharp higher" in result.splitlines()[1]
    assert "sharp higher" in open_desk(desk_link, "/studies/maps/results")

    # The export holds exactly five ratings of each explanation; audit and report repeat the answer.
    run("study", "export", folder, "--out", export)
    assert "ok" in run("study", "verify", export)
    audit = run("audit", export, "--quiet", "--out", Path(home.name) / "audit")
    assert "sharp was rated" in audit
    assert "sharp was rated" in (Path(home.name) / "audit" / "report.html").read_text()
finally:
    serving.send_signal(signal.SIGINT)
    serving.wait(60)
    home.cleanup()
