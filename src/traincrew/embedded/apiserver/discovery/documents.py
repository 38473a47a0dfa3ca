"""Discovery documents below /api and /apis: groups, versions, resources."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence

from traincrew.apimachinery.resource_info import ResourceInfo, Subresource
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.discovery import version_priority

VERSION = "1.32.2"
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def core_versions(address: str) -> Object:
    """/api. `address` is the host and port of the server."""
    reached = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": reached}


def group_list(resources: Sequence[ResourceInfo]) -> Object:
    """/apis."""
    groups = [_group(group, versions) for group, versions in version_priority.groups(resources).items() if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(resources: Sequence[ResourceInfo], name: str) -> Object | None:
    """/apis/<group>; None if the group does not exist."""
    versions = version_priority.groups(resources).get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if name and versions else None


def _group(name: str, versions: Sequence[str]) -> Object:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def resource_list(served: Sequence[ResourceInfo], group: str, version: str) -> Object | None:
    """/api/v1 and /apis/<group>/<version>; None if the version is not served."""
    in_version = of_version(served, group, version)
    if not in_version:
        return None
    resources = [entry for each in in_version for entry in _entries(each)]
    group_version = f"{group}/{version}" if group else version
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    return head | {"groupVersion": group_version, "resources": resources}


def of_version(resources: Sequence[ResourceInfo], group: str, version: str) -> list[ResourceInfo]:
    """The resources of one group version, by name."""
    return sorted((each for each in resources if (each.group, each.version) == (group, version)), key=lambda each: each.plural)


def by_version(resources: Sequence[ResourceInfo]) -> dict[tuple[str, str], list[ResourceInfo]]:
    """The resources of every group version, by name: there may be thousands of each."""
    found: dict[tuple[str, str], list[ResourceInfo]] = {}
    for each in sorted(resources, key=lambda each: each.plural):
        found.setdefault((each.group, each.version), []).append(each)
    return found


def verbs(info: ResourceInfo) -> list[str]:
    custom = info.definition is not None
    return [verb for verb in _CUSTOM_VERBS if verb in info.verbs] if custom else sorted(info.verbs)


def subresources(info: ResourceInfo) -> list[Subresource]:
    """Ordered as kube-apiserver does: by name; for custom resources the status comes first."""
    return sorted(info.subresources, key=lambda each: each.name, reverse=info.definition is not None)


def _entries(info: ResourceInfo) -> Iterator[Object]:
    entry: Object = {
        "name": info.plural,
        "singularName": info.singular or info.kind.lower(),
        "namespaced": info.namespaced,
        "kind": info.kind,
        "verbs": verbs(info),
    }
    yield entry | named(info) | ({"storageVersionHash": _storage_hash(info)} if "watch" in info.verbs else {})
    for part in subresources(info):
        yield _subresource(info, part)


def named(info: ResourceInfo) -> Object:
    """Singular, short names and categories, as far as they are defined."""
    lists = {"shortNames": list(info.short_names), "categories": list(info.categories)}
    return {key: value for key, value in lists.items() if value}


def _subresource(info: ResourceInfo, part: Subresource) -> Object:
    foreign = {"group": part.group, "version": part.version} if part.version else {}
    entry: Object = {"name": f"{info.plural}/{part.name}", "singularName": "", "namespaced": info.namespaced}
    return entry | foreign | {"kind": part.kind, "verbs": list(part.verbs)}


_STORED = {
    "apiextensions.k8s.io/v1/CustomResourceDefinition": "apiextensions.k8s.io/v1beta1/CustomResourceDefinition",
}
"""Kinds that kube-apiserver stores as another kind: clients detect a change by the hash."""


def _storage_hash(info: ResourceInfo) -> str:
    info = info.stored_as or info
    stored = f"{info.group}/{info.storage_version or info.version}/{info.kind}"
    stored = _STORED.get(stored, stored)
    return base64.b64encode(hashlib.sha256(stored.encode()).digest()[:8]).decode()


_SUFFIX = "+traincrew"


def is_embedded(version: Object) -> bool:
    """Whether /version is that of an embedded API server."""
    return str(version.get("gitVersion", "")).endswith(_SUFFIX)


def version(platform: str, runtime: str) -> Object:
    """/version. `platform` as Go names it (`linux/amd64`)."""
    major, minor, _ = VERSION.split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{VERSION}{_SUFFIX}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": runtime,
        "compiler": "",
        "platform": platform,
    }
