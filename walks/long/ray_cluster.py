"""Audit on a Ray cluster of four machines: the same bytes as on one (needs theodolite[ray,store]).

Each machine is a network namespace of this computer with an address of its own, so this needs root.
"""

import os
import secrets
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import theodolite

MACHINES = ("10.77.0.1", "10.77.0.2", "10.77.0.3", "10.77.0.4")
folder = Path(tempfile.mkdtemp())
(folder / "token").write_text(secrets.token_hex(16))
(folder / "token").chmod(0o600)
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": f"{folder}/token"}

# Concept values that follow the truth, in ten shards.
random = np.random.default_rng(0)
truth = random.random((640, 4)) < 0.5
values = truth + random.normal(scale=0.4, size=truth.shape)
theodolite.store({"values": values, "truth": truth}, folder / "mine", rows=64)


def run(line: str, machine: str = "") -> str:
    """Run a command of the shell, on a machine if one is named."""
    words = f"ip netns exec m{machine} {line}" if machine else line
    return subprocess.run(words.split(), check=True, capture_output=True, text=True).stdout


nodes: list[subprocess.Popen[bytes]] = []
run("ip netns add switch")
run("ip netns exec switch ip link add cluster type bridge")
run("ip netns exec switch ip link set cluster up")
try:
    for address in MACHINES:
        run(f"ip netns add m{address}")
        run(f"ip link add v{address} netns switch type veth peer name eth0 netns m{address}")
        run(f"ip netns exec switch ip link set v{address} master cluster up")
        run(f"ip addr add {address}/24 dev eth0", address)
        run("ip link set eth0 up", address)
        run("ip link set lo up", address)
        role = "--head --port=6379" if address == MACHINES[0] else f"--address={MACHINES[0]}:6379"
        start = f"ray start --block --num-cpus=1 --node-manager-port=6380 {role}"
        words = f"ip netns exec m{address} {start} --node-ip-address={address}".split()
        nodes.append(subprocess.Popen(words, stdout=subprocess.DEVNULL))
        while ":6380" not in run("ss -ltn", address):  # until it has started
            time.sleep(0.5)

    audit = f"theodolite audit {folder}/mine --resamples 100 --quiet --out {folder}"
    run(f"{audit}/one")
    print(run(f"{audit}/four --engine ray --ray-address {MACHINES[0]}:6379", MACHINES[0]))
finally:
    for node in nodes:
        node.terminate()
    for node in nodes:
        node.wait()
    for address in MACHINES:
        run(f"ip netns del m{address}")
    run("ip netns del switch")

one, four = ((folder / name / "scores.json").read_bytes() for name in ("one", "four"))
print("the scores are", "equal" if one == four else "different")
assert one == four
