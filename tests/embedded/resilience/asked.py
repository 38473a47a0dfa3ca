"""Requests of every kind, each made from a number: the same number makes the same request."""

from __future__ import annotations

import pathlib
import random
import urllib.parse
from collections.abc import Sequence
from typing import Any, NamedTuple

import yaml
from tests.embedded.resilience import documents, nonsense, patched

from traincrew.apimachinery.resource_info import Object, ResourceInfo

METHODS = (
    ("GET",) * 20 + ("POST",) * 30 + ("PATCH",) * 40 + ("PUT",) * 20 + ("DELETE",) * 4 + ("HEAD", "OPTIONS", "TRACE", "BREW")
)
KEPT = ("customresourcedefinitions", "namespaces", "clusterrolebindings")
"""Collections that are not deleted whole: hardly anything would be left to ask for."""
OF_COLLECTIONS = {"GET": 0.5, "POST": 0.97, "DELETE": 0.2}
_WORDS = yaml.safe_load(pathlib.Path(__file__).with_name("asked.yaml").read_bytes())
TYPES: list[str] = _WORDS["types"]
ACCEPTS: list[str] = _WORDS["accepts"]
PARAMETERS: dict[str, list[str]] = _WORDS["parameters"]
PAGES: list[str] = _WORDS["pages"]


class Asked(NamedTuple):
    method: str
    target: str
    """Path and query, percent-encoded."""
    headers: dict[str, str]
    body: bytes

    def __str__(self) -> str:
        return f"{self.method} {self.target} {self.headers} {self.body[:2000]!r}"


def asked(number: int, resources: Sequence[ResourceInfo], seed: int = 0) -> Asked:
    chance = random.Random(f"{seed}-{number}")
    served = chance.choice(resources)
    method = chance.choice(METHODS)
    if "list" not in served.verbs and chance.random() < 0.8:  # reviews and bindings can only be posted
        method = "POST"
    if chance.random() < 0.05:
        path = chance.choice(PAGES)
    else:
        path = _path(chance, served, method)
    kind, body = _body(chance, served, method)
    if body and chance.random() < 0.1:
        body = nonsense.damaged(chance, body)
    headers = {
        "Content-Type": kind if chance.random() < 0.96 else chance.choice(TYPES),
        "Accept": _accept(chance),
        "User-Agent": _agent(chance),
    }
    return Asked(method, path + _query(chance), {key: text for key, text in headers.items() if text}, body)


def _accept(chance: random.Random) -> str:
    return chance.choice(ACCEPTS) if chance.random() < 0.1 else "application/json"


def _agent(chance: random.Random) -> str:
    return chance.choice(("kubectl/v1.32", "", "é", "x" * 300, "a b", "/"))


def _path(chance: random.Random, served: ResourceInfo, method: str) -> str:
    parts = ["api", served.version] if not served.group else ["apis", served.group, served.version]
    if served.namespaced != (chance.random() < 0.03):
        parts += ["namespaces", chance.choice(documents.NAMESPACES)]
    parts.append(served.plural)
    if chance.random() > OF_COLLECTIONS.get(method, 0.02) or (method == "DELETE" and served.plural in KEPT):
        parts.append(chance.choice(documents.NAMES) if chance.random() < 0.95 else nonsense.text(chance))
        if served.subresources and chance.random() < 0.3:
            parts.append(chance.choice(served.subresources).name)
    if chance.random() < 0.03:
        parts[chance.randrange(len(parts))] = nonsense.text(chance)
    return "/" + "/".join(quoted(part) for part in parts)


def quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="", errors="surrogatepass")


def _query(chance: random.Random) -> str:
    if chance.random() < 0.5:
        return ""
    pairs = []
    for name in chance.sample(list(PARAMETERS), chance.choice((1, 1, 2, 3))):
        value = chance.choice(PARAMETERS[name]) if chance.random() < 0.85 else nonsense.text(chance)
        # A watch without an end is for the tests of watches.
        pairs.append(f"{name}={quoted(value)}" if name not in ("follow", "timeoutSeconds") else f"{name}={PARAMETERS[name][0]}")
    return "?" + "&".join([*pairs, "timeoutSeconds=1"] if any(each.startswith("watch=") for each in pairs) else pairs)


def _body(chance: random.Random, served: ResourceInfo, method: str) -> tuple[str, bytes]:
    if method == "PATCH":
        return patched.patch(chance, served)
    if method == "DELETE":
        return "application/json", nonsense.dumped(_delete_options(chance)) if chance.random() < 0.5 else b""
    if method in ("GET", "HEAD", "TRACE") and chance.random() < 0.95:
        return "", b""
    obj: Any = documents.spoiled(chance, documents.document(chance, served))
    if chance.random() < 0.02:
        obj = nonsense.value(chance)
    if chance.random() < 0.1:
        return "application/yaml", yaml.dump(obj, allow_unicode=False).encode("utf-8", "surrogatepass")
    return "application/json", nonsense.dumped(obj)


def _delete_options(chance: random.Random) -> Object:
    options: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background", "gracePeriodSeconds": 0}
    options |= {"preconditions": {"uid": "a", "resourceVersion": "1"}} if chance.random() < 0.3 else {}
    return documents.spoiled(chance, options)
