"""Continue tokens, encoded as by kube-apiserver."""

from __future__ import annotations

import base64
import posixpath
import re

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.schema import json_syntax

FORM = "meta.k8s.io/v1"
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


class ContinueToken(msgspec.Struct):
    v: str = ""
    rv: int = 0
    """The revision of the list; -1: the newest, regardless of earlier pages."""
    start: str = ""
    """The key that the next page starts with."""


def encode(revision: int, start: str) -> str:
    token = msgspec.json.encode(ContinueToken(FORM, revision, start))
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def decode(text: str) -> ContinueToken:
    """Raises a 400."""
    try:
        token = _decoded(text)
        _check(token)
    except ValueError as error:
        raise api_errors.bad_request(f"invalid continue token: continue key is not valid: {error}") from None
    return token


def _decoded(text: str) -> ContinueToken:
    foreign = _FOREIGN.search(text)
    if foreign or len(text) % 4 == 1:
        raise ValueError(f"illegal base64 data at input byte {foreign.start() if foreign else len(text)}")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        return msgspec.json.decode(raw, type=ContinueToken)
    except msgspec.ValidationError:
        raise ValueError("json: cannot unmarshal into the fields of a continue token") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        json_syntax.check(raw)
        raise ValueError("it is not UTF-8") from None


def _check(token: ContinueToken) -> None:
    if token.v != FORM:
        raise ValueError(f"server does not recognize this encoded version {token.v}")
    if token.rv == 0:
        raise ValueError(f"incorrect encoded start resourceVersion (version {FORM})")
    if not token.start:
        raise ValueError(f"encoded start key empty (version {FORM})")
    path = token.start if token.start.startswith("/") else f"/{token.start}"
    if posixpath.normpath(path) != path:
        raise ValueError(token.start)
