"""Files of certificates and keys as typed, made by openssl: which are taken, and why others are not."""

import subprocess
from pathlib import Path

import pytest
from crumple.contract import ClientCertificateSpec
from crumple.errors import UsageError
from crumple.load import certificates, target
from crumple.load.load_flags import TargetFlags

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two certificates and their keys, one of which is encrypted as well."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    for name in ("one", "other"):
        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}"]
        openssl("req", "-x509", *new, "-keyout", f"{name}.key", "-out", f"{name}.pem")
    openssl("pkey", "-in", "one.key", "-aes256", "-passout", "pass:x", "-out", "encrypted.key")
    (folder / "both.pem").write_text((folder / "one.pem").read_text() + (folder / "one.key").read_text())
    (folder / "empty.pem").write_text("")
    return folder


def test_a_certificate_and_its_key_are_taken_from_two_files_or_one(made: Path) -> None:
    one, key, both = (str(made / name) for name in ("one.pem", "one.key", "both.pem"))
    assert certificates.own(one, key) == ClientCertificateSpec(cert_file=one, key_file=key)
    assert certificates.own(both, None) == ClientCertificateSpec(cert_file=both, key_file=both)
    assert certificates.own(None, None) is None


def test_they_go_to_the_engine_with_their_whole_path(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    tls = target.resolve("https://127.0.0.1/", TargetFlags(cert="one.pem", key="one.key")).target.tls
    assert tls and tls.client == ClientCertificateSpec(
        cert_file=str(made / "one.pem"), key_file=str(made / "one.key")
    )


@pytest.mark.parametrize(
    ("cert", "key", "said"),
    [
        (None, "one.key", "--key is the key of a certificate, and there is none; add --cert FILE"),
        ("none.pem", None, "cannot read --cert none.pem: No such file or directory; check the path"),
        ("one.pem", "none.key", "cannot read --key none.key: No such file or directory"),
        ("one.pem", None, "--cert one.pem holds no private key; name the file of its key: --key FILE"),
        ("one.pem", "other.pem", "--key other.pem holds no private key; give a file in PEM form"),
        ("empty.pem", "one.key", "--cert empty.pem holds no certificate; give a file in PEM form"),
        ("one.pem", "other.key", "--key other.key is not the key of --cert one.pem; give the key that"),
        ("one.pem", "encrypted.key", "the key in encrypted.key is encrypted; decrypt it into a file"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    made: Path, monkeypatch: pytest.MonkeyPatch, cert: str | None, key: str | None, said: str
) -> None:
    monkeypatch.chdir(made)
    with pytest.raises(UsageError) as caught:
        certificates.own(cert, key)
    assert str(caught.value).startswith(said) and "\n" not in str(caught.value)


def test_http_has_no_certificates(made: Path) -> None:
    with pytest.raises(UsageError, match=r"^--cert is about certificates, and http has none; write https://"):
        target.resolve("http://127.0.0.1/", TargetFlags(cert=str(made / "both.pem")))
