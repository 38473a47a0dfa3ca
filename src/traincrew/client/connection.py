"""The connection to an API server: address, TLS and credentials, from a kubeconfig or a service account."""

from __future__ import annotations

import dataclasses

from traincrew.client import credentials


@dataclasses.dataclass(frozen=True)
class ServerConnection:
    server: str
    """http(s)://host[:port][/prefix], without a slash at the end."""
    identity: credentials.Credentials = dataclasses.field(default_factory=credentials.ClientIdentity, repr=False)
    where: str = "the connection"
    """The source of the connection, for messages: "context 'c' of F"."""
    namespace: str = "default"
    insecure: bool = False
    """The server's certificate is not verified."""
    tls_server_name: str = ""
    """The name that the server's certificate must contain. Empty: the host of `server`."""
    proxy: str = dataclasses.field(default="", repr=False)
    impersonation: tuple[tuple[str, str], ...] = ()
    """Impersonate-* headers."""
