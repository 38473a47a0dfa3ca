"""Certificates of the embedded cluster's authority for nodes and users that tests play."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from traincrew.embedded.pki import certificates, issuer
from traincrew.embedded.pki.certificate_files import AUTHORITY


def for_node(pki: certificates.Pki, name: str, addresses: Iterable[str]) -> bytes:
    """Key and certificate, in one PEM, for the HTTPS endpoint of a node."""
    names = tuple(dict.fromkeys((name, *addresses)))
    return _issue(pki, issuer.CertificateRequest(f"system:node:{name}", ("system:nodes",), names, server=True))


def for_client(pki: certificates.Pki, name: str, groups: Iterable[str] = ()) -> bytes:
    """Key and certificate, in one PEM, of a user."""
    return _issue(pki, issuer.CertificateRequest(name, tuple(groups)))


def _issue(pki: certificates.Pki, request: issuer.CertificateRequest) -> bytes:
    authority = (pki.directory / AUTHORITY).read_bytes()
    return issuer.certificate(authority, request, datetime.datetime.now(datetime.UTC))
