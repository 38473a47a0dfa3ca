"""What two runs of the same command may print differently: times, names and addresses that a server makes up."""

from __future__ import annotations

import re

DURATION = r"(?:\d+y)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?:\d+ms)?"
RULES: tuple[tuple[str, str], ...] = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| ?[+-]\d\d:?\d\d(?: UTC)?)", "TIME"),
    (r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID"),
    (r'((?:resourceVersion|uid)"?: ?)"[^"]*"', r"\1VERSION"),
    (r"(https?://)(?:127\.0\.0\.1|localhost|\[::1\]):\d+", r"\1SERVER"),
    (r"\b127\.0\.0\.1:\d+", "SERVER"),
    (r"\beyJ[\w-]+\.[\w-]+\.[\w-]+", "TOKEN"),
    (r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", "CERTIFICATE"),
    (r"LS0t[A-Za-z0-9+/=]{40,}", "CERTIFICATE"),
    (r"\b\d+\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", r"\1 "),
    (r"(nodePort\"?: ?)\d+", r"\1PORT"),
    (r"(:)3[0-2]\d{3}(/(?:TCP|UDP))", r"\1PORT\2"),
    (r"\b3[0-2]\d{3}/(TCP|UDP)", r"PORT/\1"),
    (r"/tmp/[\w./-]*?((?:LIVE|MERGED)-)\d+", r"\1N"),
    (r"/[\w./-]*kubectl-edit-\w+", "kubectl-edit"),
    (r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-RANDOM"),
    (rf"(?<![\w.=/-])(?=\d){DURATION}(?![\w./=-])", "AGE"),
    (r"(?<=\S)[ \t]{2,}", "  "),
    (r"[ \t]+$", ""),
)
COMPILED = tuple((re.compile(pattern, re.MULTILINE | re.DOTALL), by) for pattern, by in RULES)


def plain(text: str) -> str:
    for pattern, by in COMPILED:
        text = pattern.sub(by, text)
    return text
