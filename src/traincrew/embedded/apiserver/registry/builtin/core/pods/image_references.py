"""Image references, as far as they decide whether an image is always pulled."""

from __future__ import annotations

import re

from traincrew.apimachinery.string_cache import cached

_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(rf"((?:{_DOMAIN}/)?{_PART}(?:/{_PART})*)(?::(\w[\w.-]{{0,127}}))?(?:@({_DIGEST}))?", re.ASCII)
_IDENTIFIER = re.compile("[a-f0-9]{64}")


@cached(1024)
def pull_policy(image: str) -> str:
    return "Always" if _tag(image) == "latest" else "IfNotPresent"


def _tag(image: str) -> str:
    if _IDENTIFIER.fullmatch(image):
        return ""
    match = _REFERENCE.fullmatch(_normalized(image))
    if match is None:
        return ""
    return match[2] or ("" if match[3] else "latest")


def _normalized(image: str) -> str:
    """With the registry's domain, without which a word before the first slash would be taken for one."""
    domain, slash, rest = image.partition("/")
    if not slash:
        return f"docker.io/library/{image}"
    if not any(each in domain for each in ".:") and domain != "localhost" and domain.lower() == domain:
        return f"docker.io/{image}"
    return f"docker.io/library/{rest}" if not rest else image
