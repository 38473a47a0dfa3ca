"""The cluster's certificate authority and its certificates in DIR/pki: created at the first start, renewed before expiry."""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
import pathlib
import socket
import ssl
import time
from collections.abc import Callable, Iterable

from traincrew.embedded.pki.certificate_files import AUTHORITY, AUTHORITY_CERTIFICATE, CLIENT, SERVER, CertificateFiles

SERVICE_ADDRESS = "10.96.0.1"
"""Of the service `kubernetes`."""
NAMES = (
    "localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local", SERVICE_ADDRESS,
)  # fmt: skip
KUBELET_CLIENT = "kube-apiserver-kubelet-client"
"""The common name of the API server as a client of kubelets. Kubelets accept this name only."""
RENEWED_BEFORE = 30 * 24 * 3600.0


def names(listen: str = "", more: Iterable[str] = ()) -> tuple[str, ...]:
    """Names and addresses of the server, given the address that it listens on."""
    names = dict.fromkeys((*NAMES, socket.gethostname().lower()))
    for each in (listen, *more):
        plain = each.strip("[]").lower()
        if plain and not _unspecified(plain):
            names[plain] = None
    return tuple(names)


@dataclasses.dataclass(frozen=True)
class Pki:
    directory: pathlib.Path
    names: tuple[str, ...]
    renewed: bool
    """Whether a certificate was issued: then refresh the TLS contexts in use."""

    @property
    def authority(self) -> bytes:
        """The authority's certificate, for a kubeconfig or a pod's ca.crt."""
        return (self.directory / AUTHORITY_CERTIFICATE).read_bytes()

    def server_context(self) -> ssl.SSLContext:
        """Client certificates are optional."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        self.refresh(context)
        return context

    def refresh(self, context: ssl.SSLContext) -> None:
        """Reloads the certificate for new connections."""
        context.load_verify_locations(self.directory / AUTHORITY_CERTIFICATE)
        context.load_cert_chain(self.directory / SERVER)

    def kubelet_context(self, authority: str = "") -> ssl.SSLContext:
        """For requests of the API server to kubelets. authority: PEM, of a kubelet with another authority than ours.

        Raises SSLError if it is not valid.
        """
        trusted = authority or self.authority.decode()
        context = ssl.create_default_context(cadata=trusted)
        context.load_cert_chain(self.directory / CLIENT)
        return context


def ensure(directory: pathlib.Path, served: Iterable[str], clock: Callable[[], float] = time.time) -> Pki:
    """The certificates in the directory. Issues those that are missing, damaged, about to expire, or lack a name."""
    files, now, names = CertificateFiles(directory), clock(), tuple(served)
    stale = {name for name in (AUTHORITY, SERVER, CLIENT) if files.good_until(name) < now + RENEWED_BEFORE}
    if not files.names(SERVER) >= set(names):
        stale.add(SERVER)
    if stale:
        _renew(files, stale, names, now)
    files.publish_authority()
    return Pki(directory, names, bool(stale))


def _renew(files: CertificateFiles, stale: set[str], served: tuple[str, ...], now: float) -> None:
    # The import takes a tenth of a second, which a start without new certificates saves.
    from traincrew.embedded.pki import issuer

    moment = _moment(now)
    if AUTHORITY in stale:
        authority, same_key = issuer.authority(moment, files.content(AUTHORITY))
        files.keep(AUTHORITY, authority, now + issuer.AUTHORITY_LIFETIME.total_seconds())
        if not same_key:  # certificates of the former key are no longer trusted
            stale = {SERVER, CLIENT}
    authority = files.content(AUTHORITY)
    expires = now + issuer.LIFETIME.total_seconds()
    if SERVER in stale:
        order = issuer.CertificateRequest("kube-apiserver", names=served, server=True)
        files.keep(SERVER, issuer.certificate(authority, order, moment), expires, served)
    if CLIENT in stale:
        files.keep(CLIENT, issuer.certificate(authority, issuer.CertificateRequest(KUBELET_CLIENT), moment), expires)


def _moment(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def _unspecified(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return False
