"""Path and query parameters of operations."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.unstructured import Object

_TYPES = {
    "boolean": (
        "allowWatchBookmarks", "follow", "force", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
        "insecureSkipTLSVerifyBackend", "previous", "sendInitialEvents", "stderr", "stdin", "stdout", "timestamps", "tty",
        "watch",
    ),
    "integer": ("gracePeriodSeconds", "limit", "limitBytes", "ports", "sinceSeconds", "tailLines", "timeoutSeconds"),
}  # fmt: skip
_TYPE = {name: type for type, names in _TYPES.items() for name in names}


def query(*names: str) -> list[Object]:
    return [_parameter(name, "query") for name in names]


def path(*names: str) -> list[Object]:
    return [_parameter(name, "path") | {"required": True} for name in names]


def _parameter(name: str, location: str) -> Object:
    schema: dict[str, Any] = {"type": _TYPE.get(name, "string"), "uniqueItems": True}
    return {"name": name, "in": location, "schema": schema}


_SELECTION = ("labelSelector", "limit")
_VERSIONS = ("resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds")
_DELETION = ("gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential")
_DEPENDENTS = ("orphanDependents", "propagationPolicy")

LIST = query("allowWatchBookmarks", "continue", "fieldSelector", *_SELECTION, *_VERSIONS, "watch")
WRITE = query("dryRun", "fieldManager", "fieldValidation")
PATCH = [*WRITE, *query("force")]
DELETE = query("dryRun", *_DELETION, *_DEPENDENTS)
DELETE_MANY = query("continue", "dryRun", "fieldSelector", *_DELETION, *_SELECTION, *_DEPENDENTS, *_VERSIONS)
PRETTY = query("pretty")

_LOGS = ("container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "pretty", "previous", "sinceSeconds", "stream")
_TERMINAL = ("container", "stderr", "stdin", "stdout", "tty")
STREAMS = {
    "log": query(*_LOGS, "tailLines", "timestamps"),
    "exec": query("command", *_TERMINAL),
    "attach": query(*_TERMINAL),
    "portforward": query("ports"),
}
