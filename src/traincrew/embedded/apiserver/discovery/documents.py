"""What is served, group by group: the documents below /api and /apis."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence

from traincrew.apimachinery.resource_info import Object, ResourceInfo, Subresource
from traincrew.embedded.apiserver.discovery import version_priority

VERSION = "1.32.2"
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def core_versions(address: str) -> Object:
    """/api. `address` is the host and port that the server is reached at."""
    reached = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": reached}


def group_list(served: Sequence[ResourceInfo]) -> Object:
    """/apis."""
    groups = [_group(group, versions) for group, versions in version_priority.groups(served).items() if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(served: Sequence[ResourceInfo], name: str) -> Object | None:
    """/apis/<group>; None if there is none of that name."""
    versions = version_priority.groups(served).get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if name and versions else None


def _group(name: str, versions: Sequence[str]) -> Object:
    told = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": told, "preferredVersion": told[0]}


def resource_list(served: Sequence[ResourceInfo], group: str, version: str) -> Object | None:
    """/api/v1 and /apis/<group>/<version>; None if that is not served."""
    found = of_version(served, group, version)
    if not found:
        return None
    resources = [entry for each in found for entry in _entries(each)]
    group_version = f"{group}/{version}" if group else version
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    return head | {"groupVersion": group_version, "resources": resources}


def of_version(served: Sequence[ResourceInfo], group: str, version: str) -> list[ResourceInfo]:
    """The resources of one group version, by name."""
    return sorted((each for each in served if (each.group, each.version) == (group, version)), key=lambda each: each.plural)


def verbs(served: ResourceInfo) -> list[str]:
    custom = served.definition is not None
    return [verb for verb in _CUSTOM_VERBS if verb in served.verbs] if custom else sorted(served.verbs)


def subresources(served: ResourceInfo) -> list[Subresource]:
    """In the order of an API server: by name, but for custom resources the status is first."""
    return sorted(served.subresources, key=lambda each: each.name, reverse=served.definition is not None)


def _entries(served: ResourceInfo) -> Iterator[Object]:
    entry: Object = {
        "name": served.plural,
        "singularName": served.singular or served.kind.lower(),
        "namespaced": served.namespaced,
        "kind": served.kind,
        "verbs": verbs(served),
    }
    yield entry | named(served) | ({"storageVersionHash": _storage_hash(served)} if "watch" in served.verbs else {})
    for part in subresources(served):
        yield _subresource(served, part)


def named(served: ResourceInfo) -> Object:
    """The names beside the plural, those that there are."""
    lists = {"shortNames": list(served.short_names), "categories": list(served.categories)}
    return {key: value for key, value in lists.items() if value}


def _subresource(served: ResourceInfo, part: Subresource) -> Object:
    foreign = {"group": part.group, "version": part.version} if part.version else {}
    entry: Object = {"name": f"{served.plural}/{part.name}", "singularName": "", "namespaced": served.namespaced}
    return entry | foreign | {"kind": part.kind, "verbs": list(part.verbs)}


_STORED = {
    "apiextensions.k8s.io/v1/CustomResourceDefinition": "apiextensions.k8s.io/v1beta1/CustomResourceDefinition",
}
"""Kinds that a kube-apiserver keeps as another one: the hash tells clients when that changes."""


def _storage_hash(served: ResourceInfo) -> str:
    served = served.kept_as or served
    stored = f"{served.group}/{served.storage_version or served.version}/{served.kind}"
    stored = _STORED.get(stored, stored)
    return base64.b64encode(hashlib.sha256(stored.encode()).digest()[:8]).decode()


def version(platform: str, runtime: str) -> Object:
    """/version. `platform` as Go names it (`linux/amd64`)."""
    major, minor, _ = VERSION.split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{VERSION}+traincrew",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": runtime,
        "compiler": "",
        "platform": platform,
    }
