"""Explanations of latents, judged by a model behind an address (needs no extra).

A server on this machine speaks OpenAI's form. It is slow, says no to every fifth request, and
thinks aloud. The command is killed in between and given again: no answer is paid for twice.
"""

import contextlib
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

import theodolite
from theodolite.ext import LatentExplanation, Vocabulary, save_explanations

# twelve latents, each active on one word; every text has some of the words
random = np.random.default_rng(0)
words = ["sea", "law", "oak", "rye", "fog", "gem", "hat", "ink", "jam", "key", "lip", "mud"]
tokens = random.integers(0, len(words), (160, 4))
folder = Path(tempfile.mkdtemp())
evidence = theodolite.TokenEvidence(
    tokens=tokens.tolist(),
    latent=[[[int(token)] for token in text] for text in tokens],
    value=[[[1.0] for _ in text] for text in tokens],
)
evidence.save(folder / "codes")
Vocabulary.of([f" {word}" for word in words]).save(folder / "codes")
save_explanations(
    [
        LatentExplanation(latent, "text", f"the word {word}", made_from=())
        for latent, word in enumerate(words)
    ],
    folder / "explained",
)

answered, requests = Counter(), Counter()


class Model(BaseHTTPRequestHandler):
    """A judge who reads: a text fits if it has the word of the explanation."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        requests["all"] += 1
        time.sleep(0.05)
        if requests["all"] % 5 == 0:
            self.send_response(429)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        question = json.loads(json.loads(body)["messages"][1]["content"])
        word = question["explanation"].split()[-1]
        fits = [text["number"] for text in question["texts"] if re.search(word, text["text"])]
        reply = f'<think>Is it {{"numbers": []}}?</think> {{"numbers": {fits}}}'
        content = {"choices": [{"message": {"content": reply}}], "usage": {"prompt_tokens": 200}}
        sent = json.dumps(content).encode()
        with contextlib.suppress(ConnectionError):
            self.send_response(200)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)
            answered[body] += 1

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
command = [
    sys.executable, "-c", "from theodolite.cli import main; main()", "sae", "judge",
    str(folder / "codes"), "--explanations", str(folder / "explained"), "--kind", "detection",
    "--address", f"http://127.0.0.1:{server.server_port}/v1", "--model", "reader",
    "--workers", "2", "--budget", "1", "--price-in", "0.15", "--out", str(folder / "judged"),
]  # fmt: skip
running = subprocess.Popen(command)
while len(answered) < 8:
    time.sleep(0.01)
running.kill()
running.wait()
time.sleep(0.2)  # requests under way arrive
before = sum(answered.values())
ended = subprocess.run(command, capture_output=True, text=True, check=False)
assert ended.returncode == 0, ended.stderr
print(ended.stdout)

# 12 latents, asked with their own explanation and with another's; two requests were under way
assert len(answered) == 24
assert 24 <= sum(answered.values()) <= 24 + 2, answered
assert 8 <= before < 24
judged = theodolite.load(folder / "judged" / "judgments")
assert theodolite.score("judge_detection", judged).value == 1.0
