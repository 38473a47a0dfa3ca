"""What may be logged of a request: never a token, an Authorization header, or the data of a Secret."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping
from typing import Any

from traincrew.apimachinery.resource_info import Object

REDACTED = "***"
_SECRET_HEADERS = frozenset(("authorization", "proxy-authorization", "cookie", "set-cookie", "sec-websocket-protocol"))
_SECRET_QUERY = re.compile(r"([?&](?:access_token|token|password|secret)=)[^&\s]*", re.IGNORECASE)
_BEARER = re.compile(r"(\b(?:bearer|basic)\s+)[^\s\"',]+", re.IGNORECASE)
_JWT = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
_WEBSOCKET = re.compile(r"(base64url\.bearer\.authorization\.k8s\.io\.)[\w=-]+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET_FIELDS = {
    "Secret": (("data",), ("stringData",)),
    "TokenRequest": (("status", "token"),),
    "TokenReview": (("spec", "token"),),
}


def request_line(method: str, target: str, user: str, code: int, seconds: float) -> str:
    """One request in one line. What a client chose is made printable: no line can be forged."""
    shown = _UNPRINTABLE.sub(lambda found: urllib.parse.quote(found.group()), text(target))
    return f"{method} {shown} {code} {seconds * 1000:.1f} ms {_UNPRINTABLE.sub('?', user) or '-'}"


def text(said: str) -> str:
    """Any text, with what looks like a credential taken out."""
    said = _SECRET_QUERY.sub(rf"\1{REDACTED}", said)
    said = _WEBSOCKET.sub(rf"\1{REDACTED}", _BEARER.sub(rf"\1{REDACTED}", said))
    return _JWT.sub(REDACTED, said)


def headers(sent: Mapping[str, str]) -> dict[str, str]:
    return {name: REDACTED if name.lower() in _SECRET_HEADERS else text(value) for name, value in sent.items()}


def body(document: Object) -> Object:
    """A copy of an object without its secret values; lists of objects too. Keys stay, for they tell what was there."""
    kind = document.get("kind", "")
    if kind.endswith("List") and isinstance(document.get("items"), list):
        inner = kind.removesuffix("List")
        return document | {
            "items": [body({"kind": inner, **item}) if isinstance(item, dict) else item for item in document["items"]]
        }
    if kind not in _SECRET_FIELDS:
        return document
    shown = dict(document)
    for path in _SECRET_FIELDS[kind]:
        _blank(shown, path)
    if kind == "Secret":
        _blank(shown, ("metadata", "annotations", _LAST_APPLIED))
    return shown


def _blank(within: dict[str, Any], path: tuple[str, ...]) -> None:
    """Copies what it changes, so that the object itself is left alone."""
    value = within.get(path[0])
    if value is None:
        return
    if len(path) == 1:
        within[path[0]] = dict.fromkeys(value, REDACTED) if isinstance(value, dict) else REDACTED
    elif isinstance(value, dict):
        within[path[0]] = dict(value)
        _blank(within[path[0]], path[1:])
