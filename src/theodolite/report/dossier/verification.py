"""Verify a dossier: its signature, files, run and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from theodolite._runs.finished_run import read_finished_run
from theodolite._runs.folder.checksums import MANIFEST, check_no_links, verify_checksums
from theodolite._runs.folder.run_records import ManifestRecord
from theodolite._runs.recomputation import recompute
from theodolite._storage.paths import compute_sha256_below, confined, size_within
from theodolite._storage.records import read_record
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.report.dossier.envelopes import ENVELOPE, check_envelope
from theodolite.report.dossier.folder import COPIES, PAGE, RUN, read_dossier
from theodolite.report.dossier.signatures import (
    SIGNATURE,
    SignatureCheck,
    check_signatures,
    has_ssh_keygen,
    key_of_signature,
    signature_files,
)
from theodolite.report.dossier.statement import DOSSIER, STATEMENT, read_digests

LARGEST = 16 << 20


@dataclass(frozen=True)
class DossierSigners:
    """Signers that the signatures of a dossier are compared with."""

    signers: Path | None = None
    """A file of allowed signers, as OpenSSH has them."""
    signer: str = ""
    """Required signer; by default any signer in the file."""
    public_key: Path | None = None
    """The key that must have signed the DSSE envelope."""


@dataclass(frozen=True)
class DossierCheck:
    """What was checked of a dossier, nothing of it amiss."""

    signatures: tuple[SignatureCheck, ...]
    unchecked: tuple[str, ...]
    """Signatures that are present but were not checked."""
    envelope: str
    """The key that signed the envelope, where that was checked."""
    n_files: int
    share: float | None
    """How much was computed again."""

    @property
    def sentence(self) -> str:
        """Result of the verification, as one line."""
        signers = [check for check in self.signatures if check.signer]
        unknown = [check for check in self.signatures if not check.signer]
        parts = [f"signed by {check.signer} ({check.message})" for check in signers]
        parts += [f"envelope signed by {self.envelope}"] if self.envelope else []
        parts = parts or ["sealed"]
        parts += [f"{check.file} not checked ({check.message})" for check in unknown]
        if self.unchecked:
            parts.append("signature present, not checked against anyone")
        elif parts == ["sealed"]:
            parts.append("not signed")
        parts.append(f"{self.n_files} files unchanged")
        if self.share is not None:
            much = "all" if self.share == 1 else f"{100 * self.share:g} % of the"
            parts.append(f"{much} scores or tasks equal when recomputed")
        return "; ".join(parts)


def verify_dossier(
    folder: Path,
    by: DossierSigners,
    *,
    run: Path | None = None,
    share: float | None = None,
    buckets: bool = False,
    progress: Progress = silent,
) -> DossierCheck:
    """Check a dossier in this order, and raise on the first that is amiss.

    The signature over the statement's bytes; the files that the statement names; the manifest
    against the files of the run; with ``share``, the scores computed again.

    Args:
        folder: A dossier.
        by: Who must have signed.
        run: The run folder, if it is not in the dossier.
        share: How much of the work is computed again.
        buckets: Whether buckets that the run names may be read.
        progress: Told how far the computation is.
    """
    check_no_links(folder)
    statement = _statement(folder)
    checks, unchecked, envelope = _signatures(folder, statement, by)
    digests = read_digests(statement)
    _check_subjects(folder, digests)
    runs = [path for path in (run, folder / RUN) if path is not None and path.exists()]
    n = _check_manifest(folder, digests, runs)
    if share is not None:
        if not runs:
            raise EvidenceError(
                f"dossier {folder.name!r}", "no evidence in it", "the run folder",
                "Pass --run RUN, or export the dossier --with-run.",
            )  # fmt: skip
        recompute(runs[0], progress, share, buckets=buckets)
        _check_answers(folder, runs[0])
    return DossierCheck(tuple(checks), unchecked, envelope, n, share)


def _statement(folder: Path) -> bytes:
    path = folder / STATEMENT
    try:
        size_within(path, LARGEST, "statement")
    except UnsafeInputError as error:
        raise VerificationError(f"dossier {folder.name!r}", f"no {STATEMENT}", "one") from error
    return path.read_bytes()  # once: what was verified is what is read


def _signatures(
    folder: Path, statement: bytes, by: DossierSigners
) -> tuple[list[SignatureCheck], tuple[str, ...], str]:
    files, envelope = signature_files(folder), (folder / ENVELOPE).exists()
    checks: list[SignatureCheck] = []
    if by.signers is not None:
        checks = check_signatures(folder, statement, by.signers, by.signer)
    elif has_ssh_keygen():
        for path in files:
            key_of_signature(path, statement)
    if by.public_key is not None and not envelope:
        raise VerificationError(f"dossier {folder.name!r}", f"no {ENVELOPE}", "a signed one")
    identity = check_envelope(folder, statement, by.public_key) if envelope else ""
    unchecked = [path.name for path in files] if by.signers is None else []
    unchecked += [ENVELOPE] if envelope and by.public_key is None else []
    return checks, tuple(unchecked), identity


def _check_subjects(folder: Path, digests: dict[str, str]) -> None:
    what = f"dossier {folder.name!r}"
    for name in (DOSSIER, PAGE, MANIFEST, "report.html", "run.json"):
        if name not in digests:
            raise VerificationError(
                what, f"a statement that does not list {name}", "all files of the dossier"
            )
    for name, digest in digests.items():
        _check_file(folder, name, digest, "the statement")
    known = {*digests, *COPIES, STATEMENT, ENVELOPE, RUN}
    for path in sorted(folder.iterdir()):
        if path.name not in known and not SIGNATURE.fullmatch(path.name):
            raise VerificationError(
                what, f"{path.name}, which has no signature", "no further files"
            )


def _check_manifest(folder: Path, digests: dict[str, str], runs: Sequence[Path]) -> int:
    """The files of the run that are here, and the run folder itself where it is at hand."""
    listed = read_record(folder / MANIFEST, ManifestRecord).files
    copies = [name for name in COPIES if name != MANIFEST]
    for name in copies:
        _check_file(folder, name, listed.get(name, ""), "the manifest")
    n = len({*digests, *copies})
    for run in runs:
        if (
            not (run / MANIFEST).is_file()
            or compute_sha256_below(run, MANIFEST) != digests[MANIFEST]
        ):
            raise VerificationError(
                f"run {run.name!r}", f"another {MANIFEST}", "the one that the statement names"
            )
        n += verify_checksums(run)
    return n


def _check_file(folder: Path, name: str, digest: str, by: str) -> None:
    what = f"dossier {folder.name!r}"
    try:
        confined(folder, name)
        same = compute_sha256_below(folder, name) == digest
    except UnsafeInputError as error:
        raise VerificationError(what, f"no {name}", f"the file that {by} names") from error
    if not same:
        raise VerificationError(what, f"{name} changed", f"the bytes that {by} names")


def _check_answers(folder: Path, run: Path) -> None:
    """The answers in the dossier are those that the run's scores lead to."""
    dossier = read_dossier(folder)
    stated = {row.question: row.answer for row in (*dossier.answers, *dossier.not_evaluated)}
    answers = {verdict.question: verdict.answer for verdict in read_finished_run(run).verdicts}
    for question, answer in answers.items():
        if stated.get(question) != answer:
            raise VerificationError(
                f"dossier {folder.name!r}", f"{stated.get(question)!r} to {question}", repr(answer)
            )
