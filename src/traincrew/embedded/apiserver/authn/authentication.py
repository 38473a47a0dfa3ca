"""Authentication of requests by bearer token or client certificate. Anonymous requests are served on a few open paths only."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import ssl
from collections.abc import Mapping
from typing import Any

from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.apiserver.authn.service_account_tokens import InvalidToken, Tokens
from traincrew.embedded.apiserver.authn.token_claims import AUDIENCES
from traincrew.embedded.apiserver.authn.users import User

OPEN_PATHS = frozenset(("/livez", "/readyz", "/healthz", "/version", "/version/"))
"""Open to anonymous requests, as system:public-info-viewer is in RBAC: probes and `kubectl version` send no token."""
WEBSOCKET_TOKEN = "base64url.bearer.authorization.k8s.io."  # noqa: S105  a prefix
INVALID = "invalid bearer token"


@dataclasses.dataclass(frozen=True)
class HttpPeer:
    """A client certificate that TLS has verified."""

    user: User


def client_certificate_peer(connection: ssl.SSLObject | ssl.SSLSocket | None) -> HttpPeer | None:
    """The peer of a connection, if it presented a client certificate. Called once a connection."""
    if connection is None:
        return None
    certificate, encoded = connection.getpeercert(), connection.getpeercert(binary_form=True)
    if not certificate or not encoded:
        return None
    named: Mapping[str, Any] = certificate
    attributes = [attribute for relative in named.get("subject", ()) for attribute in relative]
    common = [value for key, value in attributes if key == "commonName"]
    if not common:
        return None
    groups = tuple(value for key, value in attributes if key == "organizationName")
    message = {users.CREDENTIAL_ID: (f"X509SHA256={hashlib.sha256(encoded).hexdigest()}",)}
    return HttpPeer(User(common[-1], (*groups, users.AUTHENTICATED), extra=message))


class Authenticator:
    def __init__(self, admin_token: str, tokens: Tokens) -> None:
        if not admin_token:
            raise ValueError("an empty token would let everybody in")
        self._admin_token, self._tokens = hashlib.sha256(admin_token.encode()).digest(), tokens
        # The token is long and random: its digest reveals nothing and identifies the token in the audit log.
        self._administrator = users.administrator(f"TOKENSHA256={self._admin_token.hex()}")
        self._anonymous = users.anonymous()

    def user(self, headers: Mapping[str, str], peer: HttpPeer | None = None, path: str = "") -> User | None:
        """The user of a request; None means 401.

        An invalid token is rejected even on open paths: the client believes it to be valid.
        """
        if peer is not None:
            return peer.user
        token = bearer(headers)
        if token:
            return self._token_user(token)
        return self._anonymous if path in OPEN_PATHS else None

    def reviewed(self, token: str, audiences: tuple[str, ...]) -> tuple[User | None, tuple[str, ...], str]:
        """For a TokenReview: the user, the audiences that the token is valid for, or the error."""
        requested = audiences or AUDIENCES
        if self._is_admin(token):
            return self._administrator, requested, ""
        try:
            user, common = self._tokens.verified(token, requested)
        except InvalidToken as invalid:
            return None, (), f"[{INVALID}, {invalid}]" if str(invalid) else INVALID
        return user, common, ""

    def _token_user(self, token: str) -> User | None:
        return self._administrator if self._is_admin(token) else self._tokens.user(token)

    def _is_admin(self, token: str) -> bool:
        # Compares digests, so that the time of the comparison reveals nothing about the token.
        return hashlib.sha256(token.encode(errors="replace")).digest() == self._admin_token


def bearer(headers: Mapping[str, str]) -> str:
    """The token of the Authorization header, or of a WebSocket's protocols, since browsers cannot set headers there."""
    parts = headers.get("Authorization", "").strip().split(" ", 2)
    if len(parts) >= 2 and parts[0].lower() == "bearer":
        return parts[1]
    return _websocket_token(headers) if "Sec-WebSocket-Protocol" in headers else ""


def _websocket_token(headers: Mapping[str, str]) -> str:
    for protocol in headers["Sec-WebSocket-Protocol"].split(","):
        name = protocol.strip()
        if name.startswith(WEBSOCKET_TOKEN):
            encoded = name[len(WEBSOCKET_TOKEN) :]
            try:
                return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
            except (binascii.Error, ValueError):
                return ""
    return ""
