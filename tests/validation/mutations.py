"""Random damage to valid jobs. The same seed gives the same manifest."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from tests.validation import valid_manifests

from traincrew.kinds import KINDS
from traincrew.validation import crds, job_review

Manifest = dict[str, Any]
Spot = tuple[Any, Any, dict[str, Any] | None]
"""A container, a key or index in it, and the schema of what is there."""

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 2.0, 2.5, 1.0000000001, -0.0, 1e3, 1e30, 2**31 - 1, 2**31, -(2**31) - 1, 2**53,
    2**63 - 1, 2**63, -(2**63), "", "x", "5", "true", "Never", "1Gi", "a b", "2024-02-30T00:00:00Z", "2024-02-29T00:00:00Z", "é",
    "\n", [], {}, [None], [1], ["x"], ["x", "x"], [{}], [[]], {"a": None}, {"a": 1}, {"a": "b"}, {"name": "x"},
    [{"name": "x"}, {"name": "x"}],
)  # fmt: skip
NAMES = (
    "a", "1abc", "abc-", "-abc", "Abc", "a.b", "a_b", "", "a" * 63, "a" * 64, "a" * 253, "a" * 254, "a b", "é",
    "a/b", "a\n", "..", "x" * 59,
)  # fmt: skip
KEYS = ("a", "A/b", "example.com/x", "/x", "x/", "a/b/c", "", "é", "a" * 64, "x" * 254 + "/a", "a_b.c-d", "-a", "Kg")
ROLES = ("Worker", "worker", "WORKER", "Master", "master", "Chief", "PS", "Ps", "Launcher", "Foo", "", "Wor\u212aer", "Evaluator")
QUANTITIES = (
    "1", "500m", "1Gi", "1.5Gi", ".5", "5.", "1e3", "1E3", "1e-3", "-1", "+1", "1 Gi", "Gi", "1gi", "1KiB", "0x10", "", "1\n",
    "1ee3", 1, 0, -1, 0.5, 1.0, 2**63, True, None, "1n", "1u", "1k", "1K", "12E", "12e", "1e1.5",
)  # fmt: skip
MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue", "", "foo", "kubeflow.org/mpi-operator")
OWNERS = (
    {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True},
    {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "v", "controller": True},
    {"apiVersion": "v1", "kind": "Event", "name": "p", "uid": "u"},
    {"apiVersion": "a/b/c", "kind": "Pod", "name": "p", "uid": "u"},
    {"apiVersion": "", "kind": "Pod", "name": "p", "uid": "u"},
    {"kind": "Pod", "name": "p", "uid": "u"},
    {"apiVersion": "apps/", "kind": "Pod", "name": "p", "uid": "u"},
)
FINALIZERS = ("example.com/x", "orphan", "foregroundDeletion", "bad one", "", "a/b/c", "kubernetes")


def manifest(seed: int) -> Manifest:
    chance = random.Random(seed)
    kind = chance.choice(KINDS)
    document = valid_manifests.job(kind, chance.choice((kind.version, *kind.variants)))
    specs = document["spec"][kind.replicas_field]
    for role in chance.sample(sorted(specs), len(specs) - 1):  # one rich role is enough to damage, and quicker to check
        specs[role] = valid_manifests.entry(kind, 1)
    for _ in range(chance.choice((0, 1, 1, 1, 1, 2, 2, 3))):
        chance.choice(DAMAGE)(chance, document)
    return document


def _spots(document: Manifest) -> list[Spot]:
    """Every place in the document below its kind and version, with its schema."""
    kind = job_review.find_kind(document["apiVersion"], document["kind"])
    assert kind is not None
    node = crds.openapi(kind.plural, document["apiVersion"].rpartition("/")[2])
    found: list[Spot] = []

    def walk(value: Any, node: dict[str, Any] | None) -> None:
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in entries:
            below = _below(node, key)
            found.append((value, key, below))
            walk(inner, below)

    for key in ("spec", "metadata"):
        if key in document:
            found.append((document, key, _below(node, key)))
            walk(document[key], _below(node, key))
    return found


def _below(node: dict[str, Any] | None, key: Any) -> dict[str, Any] | None:
    if node is None:
        return None
    if isinstance(key, int):
        return node.get("items")
    below: dict[str, Any] | None = node.get("properties", {}).get(key) or node.get("additionalProperties")
    return below


def _replace(chance: random.Random, document: Manifest) -> None:
    container, key, _ = chance.choice(_spots(document))
    container[key] = copy.deepcopy(chance.choice(VALUES))


def _remove(chance: random.Random, document: Manifest) -> None:
    container, key, _ = chance.choice(_spots(document))
    del container[key]


def _stray(chance: random.Random, document: Manifest) -> None:
    places = [container[key] for container, key, _ in _spots(document) if isinstance(container[key], dict)]
    if places:
        chance.choice(places)[chance.choice(("foo", "replica", "", "image", "name", "x-y", "Spec"))] = copy.deepcopy(
            chance.choice(VALUES)
        )


def _misspell(chance: random.Random, document: Manifest) -> None:
    places = [container[key] for container, key, _ in _spots(document) if isinstance(container[key], dict) and container[key]]
    if places:
        place = chance.choice(places)
        key = chance.choice(list(place))
        wrong = chance.choice((key.lower(), key[:-1], key + "s", key.capitalize(), key[1:]))
        place[wrong] = place.pop(key)


def _repeat(chance: random.Random, document: Manifest) -> None:
    places = [container[key] for container, key, _ in _spots(document) if isinstance(container[key], list) and container[key]]
    if places:
        place = chance.choice(places)
        place.insert(chance.randrange(len(place) + 1), chance.choice((None, copy.deepcopy(chance.choice(place)))))


def _another_field(chance: random.Random, document: Manifest) -> None:
    """A field that the schema knows and the job does not have, with a value of its type or of another."""
    places = [(c[k], n) for c, k, n in _spots(document) if isinstance(c[k], dict) and n and n.get("properties")]
    if places:
        place, node = chance.choice(places)
        field = chance.choice(sorted(node["properties"]))
        made = _sample(chance, node["properties"][field], 3)
        place[field] = made if chance.random() < 0.7 else copy.deepcopy(chance.choice(VALUES))


def _sample(chance: random.Random, node: dict[str, Any], depth: int) -> Any:
    if node.get("x-kubernetes-int-or-string"):
        return chance.choice(QUANTITIES)
    match node.get("type"):
        case "object" if "properties" in node:
            required = node.get("required", [])
            chosen = (
                {*required, *chance.sample(sorted(node["properties"]), min(len(node["properties"]), 2))} if depth else required
            )
            return {field: _sample(chance, node["properties"][field], max(depth - 1, 0)) for field in sorted(chosen)}
        case "object":
            return {"a": _sample(chance, node["additionalProperties"], depth)} if "additionalProperties" in node else {}
        case "array":
            return [_sample(chance, node["items"], max(depth - 1, 0)) for _ in range(chance.choice((0, 1, 1, 2)))]
        case "integer":
            return chance.choice((0, 1, 80, -1, 2**31, 2**40))
        case "boolean":
            return chance.random() < 0.5
    return chance.choice(("x", "", "y", "2024-01-01T00:00:00Z"))


def _name(chance: random.Random, document: Manifest) -> None:
    meta = _meta(document)
    match chance.randrange(4):
        case 0:
            meta["name"] = chance.choice(NAMES)
        case 1:
            meta.pop("name", None)
            meta["generateName"] = chance.choice((*NAMES, "abc-", "a-", "-", "a.", "1-", "A-", "x" * 300))
        case 2:
            meta["generateName"] = chance.choice(NAMES)
        case 3:
            meta.pop("name", None)


def _labels(chance: random.Random, document: Manifest) -> None:
    meta = _meta(document)
    field = chance.choice(("labels", "annotations"))
    meta[field] = {chance.choice(KEYS): chance.choice((*NAMES, "any text", None, 1))}


def _owners(chance: random.Random, document: Manifest) -> None:
    meta = _meta(document)
    meta["ownerReferences"] = [dict(chance.choice(OWNERS)) for _ in range(chance.randrange(3))]
    meta["finalizers"] = [chance.choice(FINALIZERS) for _ in range(chance.randrange(3))]
    meta["creationTimestamp"] = chance.choice((None, "2024-01-01T00:00:00Z", "2024-01-01", "", 5, "2024-01-01T00:00:00.5+01:00"))
    meta["generation"] = chance.choice((None, 1, -1, 1.5, 1.0, "1"))


def _meta(document: Manifest) -> Manifest:
    if not isinstance(document.get("metadata"), dict):
        document["metadata"] = {}
    meta: Manifest = document["metadata"]
    return meta


def _replicas(document: Manifest) -> Manifest:
    kind = job_review.find_kind(document["apiVersion"], document["kind"])
    assert kind is not None
    spec = document.get("spec")
    found = spec.get(kind.replicas_field) if isinstance(spec, dict) else None
    return found if isinstance(found, dict) else {}


def _count(chance: random.Random, document: Manifest) -> None:
    for entry in _replicas(document).values():
        if isinstance(entry, dict) and chance.random() < 0.6:
            entry["replicas"] = chance.choice((0, 1, 2, -1, 2**31 - 1, 2**31, 1.0, 2.0, 0.5, "1", None, True))


def _role(chance: random.Random, document: Manifest) -> None:
    replicas = _replicas(document)
    if replicas:
        old = chance.choice(sorted(replicas))
        entry = copy.deepcopy(replicas[old]) if chance.random() < 0.3 else replicas.pop(old)
        replicas[chance.choice(ROLES)] = chance.choice((entry, entry, entry, None, {}))


def _quantity(chance: random.Random, document: Manifest) -> None:
    for container in _containers(document):
        limits = {chance.choice(("cpu", "memory", "nvidia.com/gpu", "")): chance.choice(QUANTITIES)}
        container["resources"] = {chance.choice(("limits", "requests")): limits}


def _container(chance: random.Random, document: Manifest) -> None:
    for container in _containers(document):
        if chance.random() < 0.3:
            container[chance.choice(("name", "image"))] = chance.choice(("", "x", "sidecar", "main", None, 5))


def _containers(document: Manifest) -> list[Manifest]:
    found: list[Manifest] = []
    for entry in _replicas(document).values():
        value: Any = entry
        for key in ("template", "spec", "containers"):
            value = value.get(key) if isinstance(value, dict) else None
        found += [container for container in value or () if isinstance(container, dict)] if isinstance(value, list) else []
    return found


def _manager(chance: random.Random, document: Manifest) -> None:
    spec = document.get("spec")
    if isinstance(spec, dict):
        spec["runPolicy"] = chance.choice(
            ({"managedBy": chance.choice(MANAGERS)}, None, {}, {"suspend": None}, {"suspend": "no"})
        )


DAMAGE: tuple[Callable[[random.Random, Manifest], None], ...] = (
    _replace, _replace, _replace, _replace, _remove, _remove, _stray, _misspell, _repeat, _another_field, _another_field,
    _another_field, _name, _labels, _owners, _count, _role, _quantity, _container, _manager,
)  # fmt: skip
