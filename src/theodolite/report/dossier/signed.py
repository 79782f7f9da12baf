"""Read who signed a dossier, for model cards and experiment trackers."""

from dataclasses import dataclass
from pathlib import Path

from theodolite._storage.paths import sha256_of
from theodolite.errors import EvidenceError
from theodolite.report.dossier.folder import read_dossier
from theodolite.report.dossier.signatures import key_of_signature, signature_files
from theodolite.report.dossier.statement import STATEMENT
from theodolite.report.dossier.verification import DossierSigners, verify_dossier


@dataclass(frozen=True)
class DossierSignature:
    """Statements of a signed dossier; who owns the keys must be checked separately."""

    claim: str
    people: str
    system: str
    date: str
    keys: tuple[str, ...]
    digest: str
    """SHA-256 of the statement."""

    @property
    def sentence(self) -> str:
        """Describe the signature in one line."""
        return (
            f"{self.people} signed for {self.system} on {self.date}, by their own account, with "
            f"{' and '.join(self.keys)}; SHA-256 of {STATEMENT}: {self.digest}"
        )


def read_signature(folder: Path, run: Path) -> DossierSignature:
    """The signatories of a dossier of this run; refused where nobody signed it."""
    verify_dossier(folder, DossierSigners(), run=run)
    content = (folder / STATEMENT).read_bytes()
    files = signature_files(folder)
    if not files:
        raise EvidenceError(
            f"dossier {folder.name!r}", "no signature", "a signed dossier",
            f"theodolite sign {folder.name} --key KEY",
        )  # fmt: skip
    facts = read_dossier(folder).facts
    return DossierSignature(
        claim=facts.explanation.claim,
        people=facts.people(),
        system=f"{facts.system.name} {facts.system.version}",
        date=facts.date,
        keys=tuple(key_of_signature(path, content) for path in files),
        digest=sha256_of(folder / STATEMENT),
    )
