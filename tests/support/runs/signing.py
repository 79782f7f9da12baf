"""Keys of OpenSSH and dossiers that they signed, for tests."""

import subprocess
from pathlib import Path

from support.runs.command_line import theodolite

FACTS = """
system: {name: "Reader <b>", version: "2.10", provider: "Example Ltd"}
purpose: "Reads digits."
explanation: {shown_to: "clerks", used_for: "checking doubtful digits", claim: "These strokes decide"}
model_files: [{path: "weights.bin"}]
data: {name: "digits", license: "CC BY 4.0", description: "handwritten digits"}
responsible: [{name: "Ada Example", role: "head of quality"}]
date: "2026-11-18"
thresholds: thresholds.yaml
limits: ["Written in one country."]
"""
THRESHOLDS = "questions: {exists: partly}\n"
ADA = "ada@example.com"


def new_key(folder: Path, name: str) -> Path:
    """A key without a passphrase; its public part is beside it."""
    path = folder / name
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path]
    subprocess.run(command, check=True)
    return path


def signers_file(path: Path, key: Path, name: str = ADA, options: str = "") -> Path:
    """A list of allowed signers with one line."""
    kind, public = key.with_suffix(".pub").read_text().split()[:2]
    path.write_text(f"{name} {options} {kind} {public}\n".replace("  ", " "))
    return path


def facts_file(folder: Path) -> Path:
    """Facts that are complete, with the files that they name."""
    (folder / "weights.bin").write_bytes(b"weights")
    (folder / "thresholds.yaml").write_text(THRESHOLDS)
    path = folder / "dossier.yaml"
    path.write_text(FACTS)
    return path


def signed_dossier(run: Path, folder: Path, key: Path, *options: object) -> Path:
    """A dossier that the commands wrote and signed."""
    facts = facts_file(folder.parent)
    made = theodolite("export", run, "--dossier", folder, "--facts", facts, *options)
    assert made.returncode == 0, made.stderr
    result = theodolite("sign", folder, "--key", key)
    assert result.returncode == 0, result.stderr
    return folder
