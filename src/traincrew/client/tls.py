"""TLS contexts for an API server."""

from __future__ import annotations

import contextlib
import os
import pathlib
import ssl
import tempfile
from collections.abc import Iterator

from traincrew import errors
from traincrew.client import credentials


def context(access: credentials.Access, *, insecure: bool, where: str) -> ssl.SSLContext:
    """Without a certificate authority the system's authorities are used."""
    tls_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if insecure:
        tls_context.check_hostname = False
        tls_context.verify_mode = ssl.CERT_NONE
    else:
        _trust(tls_context, access.authority, where)
    if access.certificate or access.key:
        _load_certificate(tls_context, access, where)
    return tls_context


def _trust(tls_context: ssl.SSLContext, authority: bytes, where: str) -> None:
    # As with Go clients, an intermediate may be the only authority. The default of Python since 3.13
    # (VERIFY_X509_STRICT) is not set, because it rejects the authorities of many clusters.
    tls_context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not authority:
        tls_context.load_default_certs()
        return
    try:
        tls_context.load_verify_locations(cadata=authority.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise errors.KubeconfigError(f"{where}: the certificate authority is not a PEM certificate") from error


def _load_certificate(tls_context: ssl.SSLContext, access: credentials.Access, where: str) -> None:
    try:
        with _certificate_file(access.certificate.rstrip() + b"\n" + access.key) as path:
            # The empty password prevents a prompt of OpenSSL.
            tls_context.load_cert_chain(path, password="")
    except (ssl.SSLError, ValueError) as error:
        raise errors.KubeconfigError(
            f"{where}: the client certificate and key cannot be used "
            "(both must be PEM, belong to each other, and the key must not be encrypted)"
        ) from error


@contextlib.contextmanager
def _certificate_file(content: bytes) -> Iterator[str]:
    """OpenSSL accepts only files. On Linux it is one in memory: no disk has the key, and a container needs no directory."""
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("certificate", os.MFD_CLOEXEC), "wb", buffering=0) as file:
            file.write(content)
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.TemporaryDirectory() as private:  # mode 0700
            path = pathlib.Path(private, "certificate")
            path.write_bytes(content)
            yield str(path)
