"""OpenAPI version 3: an index, and a document for every group version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from traincrew.apimachinery.resource_info import ResourceInfo, Schema
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.discovery import aggregated, documents
from traincrew.embedded.apiserver.openapi import crds
from traincrew.embedded.apiserver.openapi.paths import DELETE_OPTIONS, PATCH, STATUS, paths

Definitions = Mapping[str, Schema]
"""Definitions of the built-in kinds, with $refs to `#/components/schemas/NAME`."""

FORMAT = 2
"""To be incremented when documents change for the same resources: clients keep a document by its hash."""
_BASIC = (PATCH, STATUS, DELETE_OPTIONS)


def index(resources: Sequence[ResourceInfo]) -> Object:
    """/openapi/v3. Builds none of the documents: the hashes are those of their inputs."""
    entries: dict[str, Object] = {}
    for (group, version), served in documents.by_version(resources).items():
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        entries[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest(served, group, version)}"}
    return {"paths": dict(sorted(entries.items()))}


def digest(resources: Sequence[ResourceInfo], group: str, version: str) -> str:
    """Changes when the document of this group version does."""
    ingredients = [_inputs(each) for each in documents.of_version(resources, group, version)]
    return aggregated.digest(msgspec.json.encode([documents.VERSION, FORMAT, ingredients]))


def _inputs(info: ResourceInfo) -> list[Any]:
    parts = [(part.name, part.verbs) for part in info.subresources]
    spec = info.definition["spec"] if info.definition is not None else None
    return [info.plural, info.verbs, parts, spec]


def document(served: Sequence[ResourceInfo], group: str, version: str, definitions: Definitions) -> Object | None:
    """/openapi/v3/api/v1, /openapi/v3/apis/<group>/<version>; None if the version is not served."""
    resources = documents.of_version(served, group, version)
    if not resources:
        return None
    own = {name: schema for each in resources if each.definition is not None for name, schema in crds.definitions(each).items()}
    known = {**definitions, **own}
    named = _names(known)
    path_items = {path: item for each in resources for path, item in paths(each, named).items()}
    roots = [*_BASIC, *own, *_referred(path_items)]
    title = "Kubernetes CRD Swagger" if own else "Kubernetes"
    return {
        "openapi": "3.0.0",
        "info": {"title": title, "version": "v0.1.0" if own else documents.VERSION.rpartition(".")[0]},
        "paths": dict(sorted(path_items.items())),
        "components": {"schemas": reachable(roots, known)},
    }


def _names(known: Definitions) -> Callable[[str, str, str], str]:
    names = {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, schema in known.items()
        for kind in schema.get("x-kubernetes-group-version-kind", ())
    }
    return lambda *kind: names.get(kind, "")


def reachable(roots: Sequence[str], known: Definitions) -> dict[str, Schema]:
    """These definitions and all definitions that they refer to, by name."""
    reached: dict[str, Schema] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in reached and name in known:
            reached[name] = known[name]
            waiting += _referred(known[name])
    return dict(sorted(reached.items()))


def _referred(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref" and isinstance(inner, str):
                yield inner.rpartition("/")[2]
            else:
                yield from _referred(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _referred(inner)
