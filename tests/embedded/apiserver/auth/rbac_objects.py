"""Short constructors of RBAC objects, and the lookup and clock of token tests."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"


def role(name: str, *rules: Object, namespace: str = "") -> Object:
    return _with_type_meta("Role" if namespace else "ClusterRole", name, namespace) | {"rules": list(rules)}


def rule(verbs: str, resources: str = "", group: str = "", names: str = "", urls: str = "") -> Object:
    """Each list is given as a string of words."""
    if urls:
        return {"verbs": verbs.split(), "nonResourceURLs": urls.split()}
    policy_rule: Object = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    return policy_rule | ({"resourceNames": names.split()} if names else {})


def binding(name: str, to: str, *subjects: Object, namespace: str = "") -> Object:
    """`to` is a kind and a name: `Role/reader`."""
    kind, _, referred = to.partition("/")
    document = _with_type_meta("RoleBinding" if namespace else "ClusterRoleBinding", name, namespace)
    return document | {"roleRef": {"apiGroup": RBAC, "kind": kind, "name": referred}, "subjects": list(subjects)}


def user_subject(name: str) -> Object:
    return {"kind": "User", "apiGroup": RBAC, "name": name}


def group_subject(name: str) -> Object:
    return {"kind": "Group", "apiGroup": RBAC, "name": name}


def service_account_subject(name: str, namespace: str = "") -> Object:
    return {"kind": "ServiceAccount", "name": name} | ({"namespace": namespace} if namespace else {})


def _with_type_meta(kind: str, name: str, namespace: str) -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata}


def stored_object(name: str, namespace: str = "ns", uid: str = "") -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "uid": uid or f"uid-of-{name}"}}


class ObjectLookup:
    """The objects that the server looks up, by plural, namespace and name."""

    def __init__(self, **objects: list[Object]) -> None:
        self.objects = {
            (plural, each["metadata"].get("namespace", ""), each["metadata"]["name"]): each
            for plural, listed in objects.items()
            for each in listed
        }

    def __call__(self, plural: str, namespace: str, name: str) -> Object | None:
        return self.objects.get((plural, namespace, name))


class Clock:
    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
