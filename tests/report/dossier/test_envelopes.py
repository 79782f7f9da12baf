"""DSSE: by its test vector, read by securesystemslib, and refused where a byte differs."""

import base64
import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.runs.command_line import theodolite
from support.runs.gated import small_run
from support.runs.signing import facts_file, new_key
from theodolite.errors import EvidenceError
from theodolite.report.dossier.envelopes import encoding, key_identity, sign_envelope

ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
SIGNATURE = (
    "9JQymjJqlnmj/ErsvMYOuLDVoLANiO+detxkSNdg372rVnob78vm2M/iQvpw/lqmAkuF0grgF8BKYEw1ubjxAw=="
)
PUBLIC = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
PAYLOAD = b'{"a":1}'
OPENSSH = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The key of the test vector, in PEM."""
    private = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    path = tmp_path / "key.pem"
    path.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


def public_of(key: Path) -> object:
    return serialization.load_pem_private_key(key.read_bytes(), None).public_key()


def test_the_vector(key: Path, tmp_path: Path) -> None:
    assert encoding(PAYLOAD) == b'DSSEv1 28 application/vnd.in-toto+json 7 {"a":1}'
    envelope = json.loads(sign_envelope(tmp_path, PAYLOAD, key).read_text())
    assert envelope["signatures"][0]["sig"] == SIGNATURE
    assert base64.b64decode(envelope["payload"]) == PAYLOAD
    raw = public_of(key).public_bytes_raw()  # type: ignore[attr-defined]
    assert base64.b64encode(raw).decode() == PUBLIC


def test_securesystemslib_reads_it(key: Path, tmp_path: Path) -> None:
    library = pytest.importorskip("securesystemslib.dsse")
    signer = pytest.importorskip("securesystemslib.signer")
    errors = pytest.importorskip("securesystemslib.exceptions")
    content = json.loads(sign_envelope(tmp_path, PAYLOAD, key).read_text())
    known = signer.SSlibKey.from_crypto(public_of(key), keyid=key_identity(public_of(key)))
    envelope = library.Envelope.from_dict(copy.deepcopy(content))  # it empties what it reads
    assert list(envelope.verify([known], 1)) == [known.keyid]
    content["payload"] = base64.b64encode(b'{"a":2}').decode()
    with pytest.raises(errors.VerificationError):
        library.Envelope.from_dict(content).verify([known], 1)


@OPENSSH
def test_keys_of_openssh_sign_and_check(tmp_path: Path) -> None:
    small_run(tmp_path / "run")
    facts, folder = facts_file(tmp_path), tmp_path / "dossier"
    theodolite("export", tmp_path / "run", "--dossier", folder, "--facts", facts)
    ada, bo, eve = (new_key(tmp_path, name) for name in ("ada", "bo", "eve"))
    for key in (ada, bo):
        assert theodolite("sign", folder, "--key", key, "--dsse").returncode == 0
    assert len(json.loads((folder / "statement.dsse.json").read_text())["signatures"]) == 2
    for key in (ada, bo):
        result = theodolite("verify", folder, "--public-key", key.with_suffix(".pub"))
        assert result.returncode == 0 and "envelope signed by SHA256:" in result.stdout
    assert "not checked against anyone" in theodolite("verify", folder).stdout
    assert theodolite("verify", folder, "--public-key", eve.with_suffix(".pub")).returncode == 5
    _refuse_changes(folder, ada.with_suffix(".pub"))


def _refuse_changes(folder: Path, public: Path) -> None:
    path = folder / "statement.dsse.json"
    envelope = json.loads(path.read_text())
    other = json.loads(base64.b64decode(envelope["payload"]))
    other["predicate"]["result"] = "PASSED!"
    payload = base64.b64encode(json.dumps(other).encode()).decode()
    for change in (
        {"payload": payload},
        {"payloadType": "text"},
        {"payload": "?"},
        {"signatures": 3},
    ):
        path.write_text(json.dumps(envelope | change))
        assert theodolite("verify", folder).returncode == 5
    path.unlink()
    assert theodolite("verify", folder, "--public-key", public).returncode == 5


@OPENSSH
def test_only_ed25519_keys_that_need_no_passphrase(tmp_path: Path) -> None:
    for name, kind, phrase in (("locked", "ed25519", "secret"), ("curve", "ecdsa", "")):
        command = ["ssh-keygen", "-q", "-t", kind, "-N", phrase, "-f", tmp_path / name]
        subprocess.run(command, check=True)
        with pytest.raises(EvidenceError, match="Ed25519"):
            sign_envelope(tmp_path, PAYLOAD, tmp_path / name)
    assert not (tmp_path / "statement.dsse.json").exists()


def test_without_the_library_it_says_what_to_install(
    key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    with pytest.raises(EvidenceError, match=r"pip install 'theodolite\[sign\]'"):
        sign_envelope(tmp_path, PAYLOAD, key)
