"""Replaces output that differs between two runs of the same command: times, generated names, addresses."""

from __future__ import annotations

import json
import re
from typing import Any

DURATION = r"(?:\d+y)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?:\d+ms)?"
RULES: tuple[tuple[str, str], ...] = (
    # Go randomizes the spaces in a diff of objects.
    ("\u00a0", " "),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| ?[+-]\d\d:?\d\d(?: UTC)?)", "TIME"),
    (r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID"),
    (r'((?:resourceVersion|uid)"?: ?)"[^"]*"', r"\1VERSION"),
    (r"(Resource Version:\s+)\d+", r"\1VERSION"),
    (r"(https?://)(?:127\.0\.0\.1|localhost|\[::1\]):\d+", r"\1SERVER"),
    (r"\beyJ[\w-]+\.[\w-]+\.[\w-]+", "TOKEN"),
    (r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", "CERTIFICATE"),
    (r"LS0t[A-Za-z0-9+/=]{40,}", "CERTIFICATE"),
    (r"\b\d+\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"(TargetPort:\s+|ADDRESS:)\d{4,5}\b", r"\1PORT"),
    (r"^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", r"\1 "),
    (r"\(0x[0-9a-f]{6,}\)", "(POINTER)"),
    (r"(nodePort\"?: ?)\d+", r"\1PORT"),
    (r"(:)3[0-2]\d{3}(/(?:TCP|UDP))", r"\1PORT\2"),
    (r"\b3[0-2]\d{3}/(TCP|UDP)", r"PORT/\1"),
    (r"/[\w./-]*?/((?:LIVE|MERGED)-)\d+", r"\1N"),
    (r"/[\w./-]*kubectl-edit-\w+", "kubectl-edit"),
    (r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-RANDOM"),
    (rf"(?<![\w.=/-])(?=\d){DURATION}(?![\w./=-])", "AGE"),
    (r"(?<=\S)[ \t]{2,}", "  "),
    (r"[ \t]+$", ""),
)
WATCH_WARNINGS = re.compile(
    r"^(?:W\d{4} .*very short watch.*|E\d{4} .*\breflector\.go:\d+\] .*: Failed to watch \S+: context deadline exceeded\"?)\n",
    re.MULTILINE,
)
"""Log lines of the client about a watch that it ended early, and about one that it did not request because its --timeout had
passed. The error of a request that was sent contains its URL. It is compared."""
ERROR_LIST = re.compile(r"(?:^(?:\* |  \.).*\n){2,}", re.MULTILINE)
"""Several errors of one object: a real API server prints them in any order."""
COMPILED_RULES = tuple((re.compile(pattern, re.MULTILINE | re.DOTALL), by) for pattern, by in RULES)


def normalize(text: str) -> str:
    text = WATCH_WARNINGS.sub("", text)
    for pattern, by in COMPILED_RULES:
        text = pattern.sub(by, text)
    return ERROR_LIST.sub(lambda block: "".join(sorted(block[0].splitlines(keepends=True))), text)


UNORDERED = (
    "describe configmap",
    "describe limitrange",
    "describe -f configmap",
    "describe namespace",
    "--list",
    "get componentstatuses",
)


def is_unordered(command: str) -> bool:
    """kubectl or the API server iterates over a Go map there, in any order."""
    return any(each in command for each in UNORDERED)


def sorted_json(text: str) -> str:
    """A response that kubectl prints unchanged (--raw), with sorted keys and without managed fields."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(_sorted(value), indent=1)


def _sorted(value: Any) -> Any:
    if isinstance(value, list):
        return sorted((_sorted(each) for each in value), key=json.dumps)
    if not isinstance(value, dict):
        return value
    return {key: _sorted(each) for key, each in sorted(value.items()) if key != "managedFields"}
