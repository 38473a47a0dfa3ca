"""Checks of responses: every error is a Status, and no error is an internal one except those that are listed."""

from __future__ import annotations

import json
import pathlib
import re
import resource

import yaml

LISTED_ERRORS = (
    "Timeout: Too large resource version",
    "Timeout: request did not complete within requested timeout",
    "the spec replicas field .* does not exist",
    "^(no endpoints available for service|error trying to reach service: )",
)
"""Messages of responses with 500 and above that depend on the state of the cluster, not on the request (docs/security.md)."""
_LISTED = re.compile("|".join(LISTED_ERRORS))


def problem(code: int, body: bytes, content_type: str = "application/json") -> str:
    """The problem of a response; empty if there is none."""
    if not 100 <= code < 600:
        return f"{code} is not a status code"
    if code < 400:
        return ""
    if "json" not in content_type and "yaml" not in content_type:
        return "" if code < 500 else f"{code} without a Status: {body[:300]!r}"
    try:
        status = yaml.safe_load(body) if "yaml" in content_type else json.loads(body)
    except (ValueError, yaml.YAMLError):
        return f"{code} with a body that cannot be read: {body[:300]!r}"
    if status.get("kind") != "Status" or status.get("code") != code or status.get("status") != "Failure":
        return f"{code} without a Status of its own: {body[:300]!r}"
    if code >= 500 and not _LISTED.search(status.get("message", "")):
        return f"{code} is not a listed error: {status.get('message')}"
    return ""


def resident() -> int:
    """Resident memory of this process in bytes."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
