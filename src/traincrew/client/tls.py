"""TLS contexts for an API server."""

from __future__ import annotations

import pathlib
import ssl
import tempfile

from traincrew import errors
from traincrew.client import credentials


def context(access: credentials.Access, *, insecure: bool, where: str) -> ssl.SSLContext:
    """Without a certificate authority the system's authorities are used."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    else:
        _trust(made, access.authority, where)
    if access.certificate or access.key:
        _prove(made, access, where)
    return made


def _trust(made: ssl.SSLContext, authority: bytes, where: str) -> None:
    # As Go's clients do: an intermediate may be the only authority. Python's own default since 3.13
    # (VERIFY_X509_STRICT) is left out, because it refuses the authorities of many clusters.
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not authority:
        made.load_default_certs()
        return
    try:
        made.load_verify_locations(cadata=authority.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise errors.KubeconfigError(f"{where}: its certificate authority is no PEM certificate") from error


def _prove(made: ssl.SSLContext, access: credentials.Access, where: str) -> None:
    with tempfile.TemporaryDirectory() as private:  # mode 0700, and gone at once: OpenSSL takes files only
        certificate, key = pathlib.Path(private, "certificate"), pathlib.Path(private, "key")
        certificate.write_bytes(access.certificate)
        key.write_bytes(access.key)
        try:
            # An empty password instead of none keeps OpenSSL from asking at the terminal.
            made.load_cert_chain(certificate, key, password="")
        except (ssl.SSLError, ValueError) as error:
            raise errors.KubeconfigError(
                f"{where}: its client certificate and key cannot be used together "
                "(both must be PEM, belong to each other, and the key must not be encrypted)"
            ) from error
