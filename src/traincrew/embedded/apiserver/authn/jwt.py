"""JSON Web Tokens signed with HS256.

A cluster signs with RSA or ECDSA so that others can verify with the public key. Here the signer is the only verifier, and a
shared key takes 5 µs instead of 30 (signing) or 90 (verifying), and spares a start the import of `cryptography` (0.1 s).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import msgspec

KEY_SIZE = 32


class BadToken(Exception):
    """The token is malformed or not signed with this key."""


class Signer:
    def __init__(self, key: bytes) -> None:
        self._key = key
        key_id = _encoded(hashlib.sha256(b"traincrew key id" + key).digest())
        self._header = _encoded(msgspec.json.encode({"alg": "HS256", "kid": key_id.decode()}))

    def sign(self, claims: dict[str, Any]) -> str:
        payload = self._header + b"." + _encoded(msgspec.json.encode(claims, order="sorted"))
        return (payload + b"." + self._signature(payload)).decode()

    def claims(self, token: str) -> dict[str, Any]:
        """The claims of a token with a valid signature. The algorithm in the header is ignored."""
        payload, _, signature = token.encode(errors="replace").rpartition(b".")
        header, _, body = payload.partition(b".")
        if header != self._header or not hmac.compare_digest(signature, self._signature(payload)):
            raise BadToken("square/go-jose: error in cryptographic primitive")
        claims: dict[str, Any] = msgspec.json.decode(_decoded(body))
        return claims

    def _signature(self, payload: bytes) -> bytes:
        return _encoded(hmac.digest(self._key, payload, "sha256"))


class _Issued(msgspec.Struct):
    iss: str = ""


_ISSUED = msgspec.json.Decoder(_Issued)


def issuer(token: str) -> str:
    """The issuer claim of a token, not verified; empty if the text is not a token."""
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        return _ISSUED.decode(_decoded(parts[1].encode())).iss
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return ""


def _encoded(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def _decoded(content: bytes) -> bytes:
    return base64.urlsafe_b64decode(content + b"=" * (-len(content) % 4))
