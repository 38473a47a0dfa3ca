"""Aggregated discovery: all groups, versions and resources in one document."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from traincrew.apimachinery.resource_info import Object, ResourceInfo, Subresource
from traincrew.embedded.apiserver.discovery import documents, version_priority


def core(served: Sequence[ResourceInfo], version: str = "v2") -> Object:
    """/api."""
    return _document(served, [""], version)


def groups(served: Sequence[ResourceInfo], version: str = "v2") -> Object:
    """/apis."""
    return _document(served, [group for group in version_priority.groups(served) if group], version)


def etag(body: bytes) -> str:
    return f'"{digest(body)}"'


def digest(body: bytes) -> str:
    return hashlib.sha512(body).hexdigest().upper()


def _document(served: Sequence[ResourceInfo], names: Sequence[str], version: str) -> Object:
    known = version_priority.groups(served)
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_group(served, name, known[name]) for name in names if name in known],
    }


def _group(served: Sequence[ResourceInfo], name: str, versions: Sequence[str]) -> Object:
    metadata = ({"name": name} if name else {}) | {"creationTimestamp": None}
    return {"metadata": metadata, "versions": [_version(served, name, version) for version in versions]}


def _version(served: Sequence[ResourceInfo], group: str, version: str) -> Object:
    resources = [_resource(each) for each in documents.of_version(served, group, version)]
    return {"version": version, "resources": resources, "freshness": "Current"}


def _resource(served: ResourceInfo) -> Object:
    entry: Object = {
        "resource": served.plural,
        "responseKind": _kind(served, served.kind),
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": served.singular or served.kind.lower(),
        "verbs": documents.verbs(served),
    }
    entry |= documents.named(served)
    parts = [_subresource(served, part) for part in documents.subresources(served)]
    return entry | ({"subresources": parts} if parts else {})


def _subresource(served: ResourceInfo, part: Subresource) -> Object:
    kind = {"group": part.group, "version": part.version, "kind": part.kind} if part.version else _kind(served, part.kind)
    return {"subresource": part.name, "responseKind": kind, "verbs": list(part.verbs)}


def _kind(served: ResourceInfo, kind: str) -> Object:
    """Group and version are left out for built-in kinds: they are those of the list around."""
    custom = served.definition is not None
    return {"group": served.group if custom else "", "version": served.version if custom else "", "kind": kind}
