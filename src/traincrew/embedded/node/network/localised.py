"""Names of Services in a pod's variables, where pods have no network of their own and no resolver. PURE"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from traincrew.embedded.node.network.zone import DOMAIN

Object = Mapping[str, Any]
HERE = "127.0.0.1"
_LABEL = r"(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\.)"
_START, _END = r"(?:(?<=//)|(?<![\w./-]))", r"(?![\w-]|\.[\w-])"
"""Nothing before or after a name makes it part of a longer one or of a path."""
_ALONE = (r"(?<![\w./\"'-])", r"(?![\w/\"'-]|\.[\w-])")
"""In quotes, a word without dot and port is rather a role or a key of TF_CONFIG than a host."""


def localised(values: Mapping[str, str], services: Iterable[Object], namespace: str, domain: str = DOMAIN) -> dict[str, str]:
    """Where pods share the host's network every Service's name is 127.0.0.1, also with a pod's name before it.

    values: as somebody wrote them. What comes from the downward API is not meant: a pod may have its Service's name.
    """
    names = [
        (str(each["metadata"]["name"]), str(each["metadata"].get("namespace") or "default"))
        for each in services
        if (each.get("spec") or {}).get("type") != "ExternalName"
    ]
    pattern = _pattern(names, namespace, domain)
    return {key: pattern.sub(HERE, value) for key, value in values.items()} if pattern else dict(values)


def _pattern(names: list[tuple[str, str]], namespace: str, domain: str) -> re.Pattern[str] | None:
    dotted = [f"{name}.{own}{rest}" for name, own in names for rest in (f".svc.{domain}", ".svc", "")]
    short = [name for name, own in names if own == namespace]
    found = [f"{_START}{_LABEL}?(?:{_any(dotted)})\\.?{_END}"] if dotted else []
    if short:
        own = _any(short)
        found += [f"{_START}{_LABEL}(?:{own}){_END}", f"{_START}(?:{own})(?=:\\d)", f"(?<=//)(?:{own}){_END}"]
        found.append(f"{_ALONE[0]}(?:{own}){_ALONE[1]}")
    return re.compile("|".join(found), re.IGNORECASE) if found else None


def _any(names: list[str]) -> str:
    """The longest first: else a short one would be found in a long one's place."""
    return "|".join(re.escape(name) for name in sorted(set(names), key=lambda name: (-len(name), name)))
