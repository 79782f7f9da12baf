"""A dossier holds against whoever changes it: with the keys of those who signed nothing passes."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import theodolite as library
from support.runs.command_line import Result, theodolite
from support.runs.gated import small_evidence, small_run
from support.runs.signing import ADA, new_key, signed_dossier, signers_file
from theodolite._runs.folder.checksums import write_checksums
from theodolite._scoring.evaluate import Resampling
from theodolite.bridges._logged import logged
from theodolite.report.exports.markdown_text import markdown_text
from theodolite.report.exports.model_card import model_card_section

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, Ada's key, her line in a list of signers, and her dossier with the run in it."""
    place = tmp_path_factory.mktemp("signed")
    small_run(place / "run")
    signers_file(place / "signers", new_key(place, "ada"))
    signed_dossier(place / "run", place / "dossier", place / "ada", "--with-run")
    return place


@pytest.fixture
def dossier(place: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(place / "dossier", tmp_path / "dossier"))


def check(dossier: Path, place: Path, *options: object) -> Result:
    return theodolite("verify", dossier, "--signers", place / "signers", "--quiet", *options)


def refused(result: Result, *words: str) -> None:
    assert result.returncode == 5, result.stdout + result.stderr
    assert all(word in result.stderr for word in words), result.stderr


def test_whoever_signed_is_named(place: Path) -> None:
    result = check(place / "dossier", place, "--recompute", "all")
    assert result.returncode == 0, result.stderr
    assert f"signed by {ADA} (ED25519 key SHA256:" in result.stdout
    assert "all scores or tasks equal when recomputed" in result.stdout
    assert check(place / "dossier", place, "--signer", ADA).returncode == 0
    refused(check(place / "dossier", place, "--signer", "bo@example.com"), "bo@example.com")


def test_without_signers_nothing_is_claimed(place: Path, dossier: Path) -> None:
    result = theodolite("verify", dossier)
    assert result.returncode == 0
    assert result.stdout.startswith("ok: sealed; signature present, not checked against anyone;")
    (dossier / "statement.json.sig").unlink()
    assert "sealed; not signed" in theodolite("verify", dossier).stdout
    refused(check(dossier, place), "no signature")


def test_any_flipped_byte_is_refused(place: Path, dossier: Path) -> None:
    """Of the dossier, of the signature, and of the run in it, evidence and all."""
    files = sorted(path for path in dossier.rglob("*") if path.is_file())
    assert any("evidence" in path.parts for path in files)
    for path in files:
        content = path.read_bytes()
        for at in {len(content) // 3, max(0, len(content) - 20)}:
            path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            refused(check(dossier, place))
        path.write_bytes(content)
    assert check(dossier, place).returncode == 0


def test_every_missing_or_added_file_is_refused(place: Path, dossier: Path) -> None:
    for path in sorted(path for path in dossier.iterdir() if path.is_file()):
        path.rename(dossier.parent / "away")
        refused(check(dossier, place))
        (dossier.parent / "away").rename(path)
    (dossier / "read_this_instead.html").write_text("all is well")
    refused(check(dossier, place), "read_this_instead.html, which has no signature")


def _forge_scores(run: Path) -> None:
    scores = json.loads((run / "scores.json").read_text())
    scores["scores"][0]["value"] = 1.0
    (run / "scores.json").write_text(json.dumps(scores))


def _forge_evidence(run: Path) -> None:
    """Audit better values, as a forger would who has our tools: a run that passes by itself."""
    evidence = small_evidence()
    better = library.ConceptEvidence(values=evidence.truth * 1.0, truth=evidence.truth)
    shutil.rmtree(run)
    library.audit(better, Resampling(resamples=20)).save(run)


def _forge_report(run: Path) -> None:
    page = (run / "report.html").read_text()
    (run / "report.html").write_text(page.replace("<h1>", "<h1>You can rely on it. "))


def _forge_facts(run: Path) -> None:
    facts = run.parent / "dossier.yaml"
    facts.write_text(facts.read_text().replace("2.10", "3.0"))


@pytest.mark.parametrize("forge", [_forge_scores, _forge_evidence, _forge_report, _forge_facts])
def test_a_forgery_that_is_sealed_again_is_refused(
    place: Path, tmp_path: Path, forge: Callable[[Path], None]
) -> None:
    """The forger seals the run and exports the dossier anew, and keeps Ada's signature."""
    run = Path(shutil.copytree(place / "run", tmp_path / "run"))
    other = new_key(tmp_path, "mallory")
    forged = signed_dossier(run, tmp_path / "dossier", other)
    forge(run)
    write_checksums(run)
    assert theodolite("verify", run).returncode == 0  # the seal alone does not tell
    shutil.rmtree(forged)
    exported = theodolite("export", run, "--dossier", forged, "--facts", tmp_path / "dossier.yaml")
    assert exported.returncode == 0, exported.stderr
    assert theodolite("verify", forged).returncode == 0
    shutil.copy(place / "dossier" / "statement.json.sig", forged)
    refused(check(forged, place), "statement.json.sig", "incorrect signature")
    (forged / "statement.json.sig").unlink()
    assert theodolite("sign", forged, "--key", other).returncode == 0
    refused(check(forged, place), "no signature by a signer in the list")


@pytest.mark.parametrize(
    "name", ["scores.json", "report.html", "evidence/seed-0/concept/values.npy"]
)
def test_a_run_that_was_sealed_again_is_not_the_one_that_was_signed(
    place: Path, dossier: Path, name: str
) -> None:
    inside = dossier / "run"
    path = inside / name
    if path.suffix == ".npy":
        np.save(path, np.load(path) + 0.25)
    else:
        path.write_bytes(path.read_bytes() + b" ")
    write_checksums(inside)
    refused(check(dossier, place), "run 'run'", "manifest.json")
    shutil.rmtree(inside)
    refused(check(dossier, place, "--run", _copy_and_seal(place, dossier.parent, name)))
    assert check(dossier, place, "--run", place / "run").returncode == 0


def _copy_and_seal(place: Path, folder: Path, name: str) -> Path:
    run = Path(shutil.copytree(place / "run", folder / "other"))
    (run / name).write_bytes((run / name).read_bytes() + b" ")
    write_checksums(run)
    return run


def test_signatures_for_something_else_are_refused(place: Path, dossier: Path) -> None:
    signature = dossier / "statement.json.sig"
    signature.unlink()
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", place / "ada"]
    subprocess.run([*command, dossier / "statement.json"], check=True, capture_output=True)
    assert signature.is_file()
    refused(check(dossier, place), "namespace does not match")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ('valid-before="20200101"', "expired"),
        ('valid-after="20990101"', "not yet valid"),
        ('namespaces="git"', "namespace"),
    ],
)
def test_signers_are_held_to_their_line_in_the_list(
    place: Path, tmp_path: Path, options: str, reason: str
) -> None:
    signers = signers_file(tmp_path / "signers", place / "ada", options=options)
    refused(theodolite("verify", place / "dossier", "--signers", signers), reason)
    named = theodolite("verify", place / "dossier", "--signers", signers, "--signer", ADA)
    refused(named, reason)


def test_several_sign_side_by_side(place: Path, dossier: Path, tmp_path: Path) -> None:
    bo = new_key(tmp_path, "bo")
    again = theodolite("sign", dossier, "--key", bo)
    assert again.returncode == 2 and "--name" in again.stderr
    assert theodolite("sign", dossier, "--key", bo, "--name", "../bo").returncode == 2
    assert theodolite("sign", dossier, "--key", bo, "--name", "bo").returncode == 0
    assert (dossier / "statement.json.bo.sig").is_file()
    only_ada = check(dossier, place).stdout
    assert f"signed by {ADA}" in only_ada and "statement.json.bo.sig not checked" in only_ada
    both = tmp_path / "both"
    line = signers_file(tmp_path / "bo_line", bo, "bo@example.com,*@lab.example").read_text()
    both.write_text((place / "signers").read_text() + line)
    result = theodolite("verify", dossier, "--signers", both)
    assert f"signed by {ADA}" in result.stdout and "signed by bo@example.com" in result.stdout


def test_a_stranger_checks_with_openssh_alone(place: Path, tmp_path: Path) -> None:
    """As the dossier's last part says, in a folder and with a path that have nothing of ours."""
    stranger = Path(shutil.copytree(place / "dossier", tmp_path / "stranger"))
    shutil.copy(place / "signers", tmp_path / "allowed_signers")
    command = (
        f"ssh-keygen -Y verify -f ../allowed_signers -I {ADA} -n theodolite-dossier "
        "-s statement.json.sig < statement.json && sha256sum *.html *.json"
    )
    alone = {"PATH": "/usr/bin:/bin"}
    run = ["sh", "-c", command]
    assert shutil.which("theodolite", path=alone["PATH"]) is None
    done = subprocess.run(run, cwd=stranger, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f'Good "theodolite-dossier" signature for {ADA}' in done.stdout
    statement = json.loads((stranger / "statement.json").read_text())
    for subject in statement["subject"]:
        assert f"{subject['digest']['sha256']}  {subject['name']}" in done.stdout
    (stranger / "statement.json").write_bytes((stranger / "statement.json").read_bytes() + b" ")
    changed = subprocess.run(run, cwd=stranger, env=alone, capture_output=True, check=False)
    assert changed.returncode != 0


def test_model_cards_and_trackers_name_who_signed(place: Path, tmp_path: Path) -> None:
    options = ("--model-card", tmp_path / "card.md", "--signed", place / "dossier")
    result = theodolite("export", place / "run", *options)
    assert result.returncode == 0, result.stderr
    card = (tmp_path / "card.md").read_text()
    words = logged(place / "run", place / "dossier").words
    assert words["theodolite.claim"] == "These strokes decide"
    assert "Ada Example (head of quality) signed for" in words["theodolite.signed_by"]
    for text in ("Ada Example", "ED25519 key SHA256:", words["theodolite.bottom_line"]):
        assert markdown_text(text) in card
    other = small_run(tmp_path / "run")
    (other / "produced.json").write_text((other / "produced.json").read_text() + " ")
    write_checksums(other)
    refused(theodolite("export", other, *options, "--overwrite"), "another manifest.json")
    unsigned = shutil.copytree(place / "dossier", tmp_path / "unsigned")
    (unsigned / "statement.json.sig").unlink()
    plain = theodolite("export", place / "run", *options[:3], unsigned, "--overwrite")
    assert plain.returncode == 2 and "no signature" in plain.stderr


def test_a_claim_of_the_run_is_named_without_a_dossier(tmp_path: Path) -> None:
    result = library.audit(small_evidence(), Resampling(resamples=20), claim="Six *strokes*")
    result.save(tmp_path / "run")
    assert logged(tmp_path / "run").words["theodolite.claim"] == "Six *strokes*"
    card = model_card_section(tmp_path / "run")
    assert "The explanation claims: “Six \\*strokes\\*”" in card


def test_a_list_of_signers_inside_the_dossier_is_none(place: Path, dossier: Path) -> None:
    inside = dossier / "allowed_signers"
    shutil.copy(place / "signers", inside)
    result = theodolite("verify", dossier, "--signers", inside)
    assert result.returncode == 2 and "outside the dossier" in result.stderr


def test_a_changed_dossier_is_not_signed(dossier: Path, place: Path) -> None:
    (dossier / "statement.json.sig").unlink()
    (dossier / "dossier.html").write_text("all is well")
    refused(theodolite("sign", dossier, "--key", place / "ada"), "dossier.html changed")
    refused(theodolite("verify", place / "run", "--signers", place / "signers"), "statement.json")


def test_a_statement_that_names_files_elsewhere_is_refused(dossier: Path, place: Path) -> None:
    content = json.loads((dossier / "statement.json").read_text())
    content["subject"].append({"name": "../weights.bin", "digest": {"sha256": "0" * 64}})
    for statement in (content, {"_type": "x"}, []):
        (dossier / "statement.json").write_text(json.dumps(statement))
        (dossier / "statement.json.sig").unlink(missing_ok=True)
        refused(theodolite("verify", dossier), "statement")
