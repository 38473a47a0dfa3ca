"""Checks of responses: every error is a Status, and no error is an internal one except those that are listed."""

from __future__ import annotations

import json
import pathlib
import re
import resource

import yaml

LISTED_ERRORS = (
    "resourceVersion should not be set on objects to be created",
    "Timeout: Too large resource version",
    "strconv.ParseUint: parsing .*: (invalid syntax|value out of range)",
    "Timeout: request did not complete within requested timeout",
    "the spec replicas field .* does not exist",
    '^no endpoints available for service "',
    # Invalid strategic merge patches and applied configurations: the real server has no better code for them.
    "unknown patch type: ",
    "expected a .*, but received a ",
    "unable to find api field in struct ",
    "list element types are not identical",
    "merging lists cannot yet be specified in the patch",
    "cannot merge lists without merge key",
    "failed to create typed patch object",
    "failed to create typed live object",
    "unrecognized type",
    "map: .* does not contain declared merge key",
    # Unreadable DeleteOptions and bindings without a target: the real server returns 500 instead of 400.
    "couldn't get version/kind; json parse error: ",
    "no kind .* is registered for version ",
    r"^yaml: (line \d+: )?(did not find|found|could not find|mapping|block|while|expected|unexpected|invalid|unacceptable) ",
    "^yaml: (control characters are not allowed|exceeded max depth of 10000|document contains excessive aliasing)$",
    "^yaml: (anchor '[^']*' value contains itself|unknown anchor '[^']*' referenced)$",
    r"^json: cannot unmarshal number -?[0-9][0-9.eE+-]* into Go value of type float64$",
    "cannot unmarshal .* into Go struct field (DeleteOptions|Preconditions)",
    "converting .* to .*: unknown conversion",
    r"^\[?target\.(name|kind): ",
    "^(no endpoints available for service|error trying to reach service: )",
)
"""Messages of responses with 500 and above that a real API server gives to the same requests."""
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
