"""Audit on a Ray cluster that has no CPU until a run asks (needs theodolite[ray,store]).

Ray's own autoscaler adds nodes; here each node is a process of this computer.
"""

import json
import os
import secrets
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import theodolite

folder = Path(tempfile.mkdtemp())
(folder / "token").write_text(secrets.token_hex(16))
(folder / "token").chmod(0o600)
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": f"{folder}/token"}
os.environ |= {"AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_FAKE_CLUSTER": "1"}

# Concept values that follow the truth, in ten shards.
random = np.random.default_rng(0)
truth = random.random((640, 4)) < 0.5
values = truth + random.normal(scale=0.4, size=truth.shape)
theodolite.store({"values": values, "truth": truth}, folder / "mine", rows=64)

# A head without CPUs, and up to two nodes of one CPU.
worker = {"resources": {"CPU": 1}, "node_config": {}, "min_workers": 0, "max_workers": 2}
head = {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0}
commands = ("initialization", "setup", "head_setup", "worker_setup", "head_start_ray")
cluster = {
    "cluster_name": "walk", "max_workers": 2, "provider": {"type": "fake_multinode"},
    "available_node_types": {"ray.head.default": head, "worker": worker},
    "head_node_type": "ray.head.default", "upscaling_speed": 1.0, "idle_timeout_minutes": 5,
    "auth": {}, "docker": {}, "file_mounts": {}, "cluster_synced_files": [],
    "worker_start_ray_commands": [], **{f"{name}_commands": [] for name in commands},
    "file_mounts_sync_continuously": False, "rsync_exclude": [], "rsync_filter": [],
}  # fmt: skip
(folder / "cluster.json").write_text(json.dumps(cluster))
start = "ray start --head --block --num-cpus=0 --port=6379 --node-manager-port=6391"
words = [*start.split(), f"--autoscaling-config={folder}/cluster.json"]
server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
try:
    while ":6391" not in subprocess.check_output(("ss", "-ltn"), text=True):  # noqa: S607
        time.sleep(0.5)  # until it has started
    audit = f"theodolite audit {folder}/mine --resamples 100 --quiet --out {folder}"
    subprocess.run(f"{audit}/local".split(), check=True, stdout=subprocess.DEVNULL)
    command = f"{audit}/cluster --engine ray --workers 2 --ray-address 127.0.0.1:6379"
    subprocess.run(command.split(), check=True)
finally:
    server.terminate()
    server.wait()

local, there = ((folder / n / "scores.json").read_bytes() for n in ("local", "cluster"))
print("the scores are", "equal" if local == there else "different")
assert local == there
