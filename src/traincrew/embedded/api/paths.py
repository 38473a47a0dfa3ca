"""URL paths of the Kubernetes API, taken apart."""

from __future__ import annotations

import urllib.parse
from typing import NamedTuple


class Target(NamedTuple):
    """What a path of a resource names. An empty name means the collection."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""
    """What follows the subresource, as in .../proxy/a/b."""
    watch: bool = False
    """The deprecated /watch/ prefix."""


def parse(path: str) -> Target | None:
    """None for paths that name no resource (discovery, health, unknown ones). `path` is still percent-encoded."""
    parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) >= 3:
        return _resource("", parts[1], parts[2:])
    if parts[0] == "apis" and len(parts) >= 4:
        return _resource(parts[1], parts[2], parts[3:])
    return None


def _resource(group: str, version: str, parts: list[str]) -> Target | None:
    watch = parts[0] == "watch"
    if watch:
        parts = parts[1:]
    if not parts or "" in parts[:3]:
        return None
    namespace = ""
    # /namespaces/x/status is of the namespace itself; /namespaces/x/pods lives in it.
    if parts[0] == "namespaces" and len(parts) >= 3 and parts[2] not in ("status", "finalize"):
        namespace, parts = parts[1], parts[2:]
    padded = [*parts[:3], "", "", ""]
    return Target(group, version, padded[0], namespace, padded[1], padded[2], "/".join(parts[3:]), watch)
