"""Generates requests of every kind from numbers: the same number gives the same request."""

from __future__ import annotations

import pathlib
import random
import urllib.parse
from collections.abc import Sequence
from typing import Any, NamedTuple

import yaml
from tests.embedded.resilience import fuzz_values, object_generator, patch_generator

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object

METHODS = (
    ("GET",) * 20 + ("POST",) * 30 + ("PATCH",) * 40 + ("PUT",) * 20 + ("DELETE",) * 4 + ("HEAD", "OPTIONS", "TRACE", "BREW")
)
NEVER_EMPTIED = ("customresourcedefinitions", "namespaces", "clusterrolebindings")
"""Collections that are never deleted as a whole: few later requests would find an object."""
COLLECTION_SHARE = {"GET": 0.5, "POST": 0.97, "DELETE": 0.2}
_PARTS = yaml.safe_load(pathlib.Path(__file__).with_name("request_parts.yaml").read_bytes())
TYPES: list[str] = _PARTS["types"]
ACCEPTS: list[str] = _PARTS["accepts"]
PARAMETERS: dict[str, list[str]] = _PARTS["parameters"]
PAGES: list[str] = _PARTS["pages"]


class RawRequest(NamedTuple):
    method: str
    target: str
    """Path and query, percent-encoded."""
    headers: dict[str, str]
    body: bytes

    def __str__(self) -> str:
        return f"{self.method} {self.target} {self.headers} {self.body[:2000]!r}"


def generate(number: int, resources: Sequence[ResourceInfo], seed: int = 0) -> RawRequest:
    rng = random.Random(f"{seed}-{number}")
    info = rng.choice(resources)
    method = rng.choice(METHODS)
    if "list" not in info.verbs and rng.random() < 0.8:  # reviews and bindings can only be posted
        method = "POST"
    if rng.random() < 0.05:
        path = rng.choice(PAGES)
    else:
        path = _path(rng, info, method)
    kind, body = _body(rng, info, method)
    if body and rng.random() < 0.1:
        body = fuzz_values.corrupted(rng, body)
    headers = {
        "Content-Type": kind if rng.random() < 0.96 else rng.choice(TYPES),
        "Accept": _accept(rng),
        "User-Agent": _agent(rng),
    }
    return RawRequest(method, path + _query(rng), {key: text for key, text in headers.items() if text}, body)


def _accept(rng: random.Random) -> str:
    return rng.choice(ACCEPTS) if rng.random() < 0.1 else "application/json"


def _agent(rng: random.Random) -> str:
    return rng.choice(("kubectl/v1.32", "", "é", "x" * 300, "a b", "/"))


def _path(rng: random.Random, info: ResourceInfo, method: str) -> str:
    parts = ["api", info.version] if not info.group else ["apis", info.group, info.version]
    if info.namespaced != (rng.random() < 0.03):
        parts += ["namespaces", rng.choice(object_generator.NAMESPACES)]
    parts.append(info.plural)
    if rng.random() > COLLECTION_SHARE.get(method, 0.02) or (method == "DELETE" and info.plural in NEVER_EMPTIED):
        parts.append(rng.choice(object_generator.NAMES) if rng.random() < 0.95 else fuzz_values.text(rng))
        if info.subresources and rng.random() < 0.3:
            parts.append(rng.choice(info.subresources).name)
    if rng.random() < 0.03:
        parts[rng.randrange(len(parts))] = fuzz_values.text(rng)
    return "/" + "/".join(quoted(part) for part in parts)


def quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="", errors="surrogatepass")


def _query(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return ""
    pairs = []
    for name in rng.sample(list(PARAMETERS), rng.choice((1, 1, 2, 3))):
        value = rng.choice(PARAMETERS[name]) if rng.random() < 0.85 else fuzz_values.text(rng)
        # A watch without a timeout would never end.
        pairs.append(f"{name}={quoted(value)}" if name not in ("follow", "timeoutSeconds") else f"{name}={PARAMETERS[name][0]}")
    return "?" + "&".join([*pairs, "timeoutSeconds=1"] if any(each.startswith("watch=") for each in pairs) else pairs)


def _body(rng: random.Random, info: ResourceInfo, method: str) -> tuple[str, bytes]:
    if method == "PATCH":
        return patch_generator.generate(rng, info)
    if method == "DELETE":
        return "application/json", fuzz_values.to_json(_delete_options(rng)) if rng.random() < 0.5 else b""
    if method in ("GET", "HEAD", "TRACE") and rng.random() < 0.95:
        return "", b""
    obj: Any = object_generator.mutated(rng, object_generator.generate(rng, info))
    if rng.random() < 0.02:
        obj = fuzz_values.value(rng)
    if rng.random() < 0.1:
        return "application/yaml", yaml.dump(obj, allow_unicode=False).encode("utf-8", "surrogatepass")
    return "application/json", fuzz_values.to_json(obj)


def _delete_options(rng: random.Random) -> Object:
    options: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background", "gracePeriodSeconds": 0}
    options |= {"preconditions": {"uid": "a", "resourceVersion": "1"}} if rng.random() < 0.3 else {}
    return object_generator.mutated(rng, options)
