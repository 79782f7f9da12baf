"""The dossier for people: seven parts on sheets of A4, which need no script."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from theodolite._runs.finished_run import Run
from theodolite._verdicts.words import not_evaluated_text
from theodolite.report.dossier.content import DossierFile, asked_verdicts
from theodolite.report.dossier.facts import NOT_STATED, DossierFacts
from theodolite.report.dossier.signatures import NAMESPACE
from theodolite.report.figures.strips import strip_key
from theodolite.report.formulas import with_code
from theodolite.report.head import card
from theodolite.report.page import page_text

FOLDER = Path(__file__).parent
MOST_LIMITS = 12
RESULTS = {"PASSED": "passed", "WARNED": "passed with warnings", "FAILED": "failed"}
MISREADINGS = (
    "A reliable explanation does not imply that the system decides correctly.",
    "An answer applies to the data named here and to this version of the system.",
    "A question that was not evaluated was not passed.",
    "Yes means that the score reached its threshold, not that there are no defects.",
)


def dossier_page(content: DossierFile, run: Run, noun: str, files: Mapping[str, bytes]) -> bytes:
    """The page; ``noun`` is what the data call concepts, ``files`` are those that lie beside it."""
    facts = content.facts
    parts = {
        "dossier": content,
        "facts": facts,
        "stated": _stated(facts),
        "result": _result_text(content),
        "with_code": with_code,
        "not_evaluated": with_code(not_evaluated_text(run.verdicts)),
        "cards": [card(v, run.subject, noun) for v in asked_verdicts(run.verdicts)],
        "digests": [(name, sha256(data).hexdigest()) for name, data in sorted(files.items())],
        "limits": content.limits[:MOST_LIMITS],
        "more_limits": max(0, len(content.limits) - MOST_LIMITS),
        "misreadings": MISREADINGS,
        "key": strip_key(f"{100 * content.run.level:g} % interval"),
        "namespace": NAMESPACE,
        "not_stated": NOT_STATED,
    }
    page = page_text("dossier.html.j2", parts, styles=["dossier.css"], folder=FOLDER)
    return page.encode()


def _stated(facts: DossierFacts) -> list[tuple[str, str]]:
    """The facts of the first sheet; what nobody stated says so."""
    every = facts.again.at_least_every
    plan = (facts.again.when, f"at least every {every}" if every else "")
    rows = [
        ("System", f"{facts.system.name}, version {facts.system.version}"),
        ("Provider", facts.system.provider),
        ("Intended purpose", facts.purpose),
        ("Deployers", facts.deployers),
        ("Claim of the explanation", f"“{facts.explanation.claim}”"),
        ("The explanation is shown to", facts.explanation.shown_to),
        ("and used for", facts.explanation.used_for),
        ("Human oversight", facts.oversight),
        ("Audited again", ", ".join(text for text in plan if text)),
    ]
    return [(name, text.strip() or NOT_STATED) for name, text in rows]


def _result_text(content: DossierFile) -> str:
    by = "by the thresholds in part 2" if content.gate else "no thresholds were stated"
    return f"{RESULTS[content.result]} ({by})"
