"""Aggregated discovery: all groups, versions and resources in one document."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from traincrew.apimachinery.resource_info import ResourceInfo, Subresource
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.discovery import documents, version_priority


def core(resources: Sequence[ResourceInfo], version: str = "v2") -> Object:
    """/api."""
    return _document(resources, [""], version)


def groups(resources: Sequence[ResourceInfo], version: str = "v2") -> Object:
    """/apis."""
    return _document(resources, [group for group in version_priority.groups(resources) if group], version)


def etag(body: bytes) -> str:
    return f'"{digest(body)}"'


def digest(body: bytes) -> str:
    return hashlib.sha512(body).hexdigest().upper()


def _document(resources: Sequence[ResourceInfo], names: Sequence[str], version: str) -> Object:
    known, served = version_priority.groups(resources), documents.by_version(resources)
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_group(served, name, known[name]) for name in names if name in known],
    }


def _group(served: Mapping[tuple[str, str], Sequence[ResourceInfo]], name: str, versions: Sequence[str]) -> Object:
    metadata = ({"name": name} if name else {}) | {"creationTimestamp": None}
    return {"metadata": metadata, "versions": [_version(served[name, version], version) for version in versions]}


def _version(served: Sequence[ResourceInfo], version: str) -> Object:
    return {"version": version, "resources": [_resource(each) for each in served], "freshness": "Current"}


def _resource(info: ResourceInfo) -> Object:
    entry: Object = {
        "resource": info.plural,
        "responseKind": _kind(info, info.kind),
        "scope": "Namespaced" if info.namespaced else "Cluster",
        "singularResource": info.singular or info.kind.lower(),
        "verbs": documents.verbs(info),
    }
    entry |= documents.named(info)
    parts = [_subresource(info, part) for part in documents.subresources(info)]
    return entry | ({"subresources": parts} if parts else {})


def _subresource(info: ResourceInfo, part: Subresource) -> Object:
    kind = {"group": part.group, "version": part.version, "kind": part.kind} if part.version else _kind(info, part.kind)
    return {"subresource": part.name, "responseKind": kind, "verbs": list(part.verbs)}


def _kind(info: ResourceInfo, kind: str) -> Object:
    """Group and version are omitted for built-in kinds: they are those of the enclosing list."""
    custom = info.definition is not None
    return {"group": info.group if custom else "", "version": info.version if custom else "", "kind": kind}
