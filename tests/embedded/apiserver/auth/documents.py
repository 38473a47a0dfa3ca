"""Objects of RBAC and of pods, as short as a test wants to write them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"


def role(name: str, *rules: Object, namespace: str = "") -> Object:
    return _titled("Role" if namespace else "ClusterRole", name, namespace) | {"rules": list(rules)}


def rule(verbs: str, resources: str = "", group: str = "", names: str = "", urls: str = "") -> Object:
    """Lists as words in a string."""
    if urls:
        return {"verbs": verbs.split(), "nonResourceURLs": urls.split()}
    found: Object = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    return found | ({"resourceNames": names.split()} if names else {})


def binding(name: str, to: str, *subjects: Object, namespace: str = "") -> Object:
    """`to` is a kind and a name: `Role/reader`."""
    kind, _, referred = to.partition("/")
    document = _titled("RoleBinding" if namespace else "ClusterRoleBinding", name, namespace)
    return document | {"roleRef": {"apiGroup": RBAC, "kind": kind, "name": referred}, "subjects": list(subjects)}


def person(name: str) -> Object:
    return {"kind": "User", "apiGroup": RBAC, "name": name}


def team(name: str) -> Object:
    return {"kind": "Group", "apiGroup": RBAC, "name": name}


def account(name: str, namespace: str = "") -> Object:
    return {"kind": "ServiceAccount", "name": name} | ({"namespace": namespace} if namespace else {})


def _titled(kind: str, name: str, namespace: str) -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata}


def stored(name: str, namespace: str = "ns", uid: str = "") -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "uid": uid or f"uid-of-{name}"}}


class Shelf:
    """Objects by plural, namespace and name: what the server would look up."""

    def __init__(self, **objects: list[Object]) -> None:
        self.objects = {
            (plural, each["metadata"].get("namespace", ""), each["metadata"]["name"]): each
            for plural, found in objects.items()
            for each in found
        }

    def __call__(self, plural: str, namespace: str, name: str) -> Object | None:
        return self.objects.get((plural, namespace, name))


class Clock:
    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
