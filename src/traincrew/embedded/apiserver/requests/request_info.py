"""Request info: the resource that the URL of a request names, parsed as Go's HTTP server parses URLs."""

from __future__ import annotations

import re
import urllib.parse
from typing import NamedTuple

from traincrew.apimachinery import api_errors

_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")


class RequestInfo(NamedTuple):
    """The parts of a resource path. An empty name means the collection."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""
    """The path after the subresource, as in .../proxy/a/b."""
    watch: bool = False
    """The deprecated /watch/ prefix."""


def decoded(path: str) -> str:
    """Without percent-encoding. Encoded slashes count as slashes."""
    if "%" not in path:
        return path
    if _BROKEN.search(path):
        raise api_errors.PlainTextError(400, "400 Bad Request")
    return urllib.parse.unquote(path)


def query(text: str) -> dict[str, list[str]]:
    """Malformed parameters are skipped."""
    parameters: dict[str, list[str]] = {}
    for pair in text.split("&"):
        if not pair or ";" in pair or ("%" in pair and _BROKEN.search(pair)):
            continue
        key, _, value = pair.partition("=")
        parameters.setdefault(urllib.parse.unquote_plus(key), []).append(urllib.parse.unquote_plus(value))
    return parameters


def parse(path: str) -> RequestInfo | None:
    """None for paths that name no resource (discovery, health, unknown ones). `path` is decoded."""
    parts = path[1:].removesuffix("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        return _resource("", parts[1], parts[2:])
    if parts[0] == "apis" and len(parts) >= 4:
        return _resource(parts[1], parts[2], parts[3:])
    return None


def _resource(group: str, version: str, parts: list[str]) -> RequestInfo | None:
    watch = parts[0] == "watch"
    if watch:
        parts = parts[1:]
    if not parts or "" in parts[:3]:
        return None
    namespace = ""
    # /namespaces/x/status is a subresource of the namespace; /namespaces/x/pods is in the namespace.
    if parts[0] == "namespaces" and len(parts) >= 3 and parts[2] not in ("status", "finalize"):
        namespace, parts = parts[1], parts[2:]
    padded = [*parts[:3], "", "", ""]
    return RequestInfo(group, version, padded[0], namespace, padded[1], padded[2], "/".join(parts[3:]), watch)
