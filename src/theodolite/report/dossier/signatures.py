"""Sign and check by OpenSSH: signing needs a key, checking only OpenSSH."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from theodolite._storage.paths import all_or_nothing, existing, size_within
from theodolite.errors import EvidenceError, VerificationError, printable
from theodolite.report.dossier.statement import STATEMENT

NAMESPACE = "theodolite-dossier"
"""A signature for anything else (a git commit, a file) is none for a dossier."""
SIGNATURE = re.compile(rf"{re.escape(STATEMENT)}(?:\.[A-Za-z0-9][A-Za-z0-9@_+-]{{0,99}})?\.sig")
LARGEST = 1 << 16


@dataclass(frozen=True)
class SignatureCheck:
    """One signature, and who made it as far as that is known."""

    file: str
    signer: str
    """Empty where the key is in no line of the list of signers."""
    message: str
    """Message of ssh-keygen."""


def sign_with_ssh(folder: Path, statement: bytes, key: Path, name: str = "") -> Path:
    """Sign a statement with a key of OpenSSH, which asks for its passphrase itself."""
    path = folder / (f"{STATEMENT}.{name}.sig" if name else f"{STATEMENT}.sig")
    if not SIGNATURE.fullmatch(path.name):
        raise EvidenceError("--name", repr(name), "letters, digits and @ _ + -")
    if path.exists():
        raise EvidenceError(
            f"file {path.name!r}", "an existing signature", "a new file",
            "Pass --name to add another signature.",
        )  # fmt: skip
    existing(key, "key")
    command = [_ssh_keygen(), "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE]
    # no time limit and its messages as they come: the user may have to touch a hardware key
    done = subprocess.run(command, input=statement, stdout=subprocess.PIPE, check=False)  # noqa: S603
    if done.returncode or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise EvidenceError(
            f"key {key.name!r}", "no signature from ssh-keygen", "a signature by this key",
            "Its message is above.",
        )  # fmt: skip
    with all_or_nothing(path) as stream:
        stream.write(done.stdout)
    return path


def signature_files(folder: Path) -> list[Path]:
    """The signatures of OpenSSH in a dossier."""
    return sorted(path for path in folder.iterdir() if SIGNATURE.fullmatch(path.name))


def check_signatures(
    folder: Path, statement: bytes, signers: Path, signer: str = ""
) -> list[SignatureCheck]:
    """Check the signatures over a statement's bytes against a list of allowed signers.

    Each must be one of these bytes, and at least one by a signer in the list: by ``signer``, if
    that is given.
    """
    what = f"dossier {folder.name!r}"
    if folder.resolve() in signers.resolve().parents:
        raise EvidenceError(
            f"list of signers {signers.name!r}", "a file of the dossier itself",
            "a list from outside the dossier", "A forged dossier could contain a forged list.",
        )  # fmt: skip
    existing(signers, "list of signers")
    files = signature_files(folder)
    if not files:
        raise VerificationError(what, "no signature", f"{STATEMENT}.sig by an allowed signer")
    checks = [_check(path, statement, signers, signer) for path in files]
    if not any(check.signer for check in checks):
        by = repr(signer) if signer else "a signer in the list"
        reasons = "; ".join(dict.fromkeys(check.message for check in checks))
        raise VerificationError(what, f"no signature by {by} ({reasons})", "one that is valid now")
    return checks


def key_of_signature(path: Path, statement: bytes) -> str:
    """Return the key that signed these bytes; refuse other bytes."""
    size_within(path, LARGEST, "signature")
    done = _run(["check-novalidate", "-n", NAMESPACE, "-s", str(path)], statement)
    if done.returncode:
        raise VerificationError(
            f"signature {path.name!r}", _message(done), f"one of the bytes of {STATEMENT}"
        )
    match = re.search(r"with (\S+ key SHA256:\S+)", done.stdout.decode(errors="replace"))
    return match[1] if match else "a key"


def has_ssh_keygen() -> bool:
    """Return whether OpenSSH is installed."""
    return shutil.which("ssh-keygen") is not None


def _check(path: Path, statement: bytes, signers: Path, signer: str) -> SignatureCheck:
    key = key_of_signature(path, statement)
    names, message = ([signer], "") if signer else _principals(path, signers)
    for name in names:
        arguments = ["-f", str(signers), "-I", name, "-n", NAMESPACE, "-s", str(path)]
        done = _run(["verify", *arguments], statement)
        if done.returncode == 0:
            return SignatureCheck(path.name, name, key)
        message = _message(done)
    return SignatureCheck(path.name, "", f"{key}: {message}")


def _principals(path: Path, signers: Path) -> tuple[list[str], str]:
    """Who in the list may have made a signature, to be checked afterwards; else why nobody."""
    done = _run(["find-principals", "-s", str(path), "-f", str(signers)], b"")
    lines = done.stdout.decode(errors="replace").splitlines()
    return [name for line in lines for name in line.split(",") if name], _message(done)


def _run(arguments: Sequence[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [_ssh_keygen(), "-Y", *arguments]
    return subprocess.run(  # noqa: S603  an argument list, no shell
        command, input=content, capture_output=True, check=False
    )


def _ssh_keygen() -> str:
    path = shutil.which("ssh-keygen")
    if path is None:
        raise EvidenceError("signatures", "no ssh-keygen", "it", "Install OpenSSH 8.9 or newer.")
    return path


def _message(done: subprocess.CompletedProcess[bytes]) -> str:
    """The first that it says is the reason; what follows is that it failed."""
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return printable(lines[0] if lines else f"exit code {done.returncode}").rstrip(".")
