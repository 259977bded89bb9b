"""Files of certificates and keys as typed (--cacert, --cert, --key): can they be used? Nothing is sent."""

from pathlib import Path

from crumple import contract
from crumple.errors import Mistakes, UsageError
from crumple.load import flag_files
from crumple.load.load_flags import TargetFlags
from crumple.load.typed_url import TypedUrl

_PEM = b"-----BEGIN CERTIFICATE-----"


def tls(flags: TargetFlags, url: TypedUrl | None, mistakes: Mistakes) -> contract.TlsSpec | None:
    """Return how TLS is spoken; None: it is not. `url` None: it could not be read."""
    ca_file = flags.cacert
    if ca_file is not None:
        mistakes.of(lambda: check_authorities(ca_file))
    if flags.insecure and ca_file is not None:
        mistakes.add("--insecure verifies nothing, so --cacert has no use", "leave one of them out")
    client = mistakes.of(lambda: own(flags.cert, flags.key))
    about_tls = {"--insecure": flags.insecure, "--cacert": ca_file, "--cert": flags.cert}
    given = [flag for flag, value in about_tls.items() if value]
    if url is not None and not url.is_tls:
        if given:
            mistakes.add(
                f"{given[0]} is about certificates, and http has none", "write https://, or leave it out"
            )
        return None
    host = url.host if url is not None else ""
    return contract.TlsSpec(server_name=host, verify=not flags.insecure, ca_file=ca_file, client=client)


def check_authorities(file: str) -> None:
    """Return if the file of --cacert holds certificates to trust. Raises UsageError."""
    found = _PEM in flag_files.read(
        f"cannot read the certificates {file}", file, "check the path after --cacert"
    )
    if not found:
        raise UsageError(f"--cacert {file} holds no certificate", "give a file in PEM form")


def own(cert: str | None, key: str | None) -> contract.ClientCertificateSpec | None:
    """Return the certificate that the client shows, if one is given. Raises UsageError."""
    if cert is None:
        if key is not None:
            raise UsageError("--key is the key of a certificate, and there is none", "add --cert FILE")
        return None
    for flag, file in (("--cert", cert), ("--key", key or cert)):
        flag_files.read(f"cannot read {flag} {file}", file)
    _check_pair(cert, key)
    return contract.ClientCertificateSpec(
        cert_file=str(Path(cert).absolute()), key_file=str(Path(key or cert).absolute())
    )


def _check_pair(cert: str, key: str | None) -> None:
    # Imported here because few loads show a certificate.
    import ssl

    if _PEM not in Path(cert).read_bytes():
        raise UsageError(f"--cert {cert} holds no certificate", "give a file in PEM form")
    held_by = f"--key {key}" if key else f"--cert {cert}"
    if "PRIVATE KEY-----" not in Path(key or cert).read_text(errors="replace"):
        remedy = "give a file in PEM form" if key else "name the file of its key: --key FILE"
        raise UsageError(f"{held_by} holds no private key", remedy)

    def encrypted() -> str:
        raise UsageError(
            f"the key in {held_by.split(' ', 1)[1]} is encrypted",
            "decrypt it into a file of your own: openssl pkey -in FILE -out PLAIN",
        )

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(cert, key, password=encrypted)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise UsageError(
                f"{held_by} is not the key of --cert {cert}", "give the key that the certificate was made for"
            ) from None
        raise UsageError(
            f"--cert {cert} and its key cannot be used: {error.reason or error}", "give both in PEM form"
        ) from None
