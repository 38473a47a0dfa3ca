"""The requests of a user or service account, from the audit log of an API server."""

from __future__ import annotations

import contextlib
from typing import Any

from tools.kube import cluster

Permission = tuple[str, str, str, str]
"""Verb, group, resource with its subresource, and the name of the only object (empty: all objects)."""


def username(entry: dict[str, Any]) -> str:
    """Empty if the request was not authenticated: kube-apiserver then writes no username at all."""
    return str(entry.get("user", {}).get("username", ""))


def requests(kube: cluster.Cluster, account: str, since: int = 0) -> list[dict[str, Any]]:
    return requests_of_user(kube, f"system:serviceaccount:{account}", since)


def requests_of_user(kube: cluster.Cluster, user: str, since: int = 0) -> list[dict[str, Any]]:
    return [entry for entry in kube.audit(since) if username(entry) == user]


def forbidden(entries: list[dict[str, Any]]) -> list[str]:
    """Requests that authorization has denied. Admission also answers 403, for example in a terminating namespace."""
    denied = [entry for entry in entries if entry.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid"]
    return sorted({f"{entry['verb']} {entry['requestURI'].partition('?')[0]}" for entry in denied})


def assert_operators_had_their_rights(kube: cluster.Cluster) -> None:
    """At the end of a run: no request of any operator with the service account of manifests/base was forbidden."""
    with contextlib.suppress(cluster.NotOurs):
        denied = forbidden(requests(kube, "kubeflow:traincrew"))
        assert not denied, f"the operator made requests that it has no right to: {denied}"


def used(entries: list[dict[str, Any]], granted: set[Permission]) -> set[Permission]:
    """The granted permissions that the requests needed."""
    found = set()
    for entry in entries:
        what = entry.get("objectRef") or {}
        resource = "/".join(part for part in (what.get("resource", ""), what.get("subresource", "")) if part)
        for name in ("", what.get("name", "")):
            key = (entry["verb"], what.get("apiGroup", ""), resource, name)
            if key in granted:
                found.add(key)
                break
    return found
