"""The steps of a write without a server: defaults, admission, strategy."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

from tests.embedded.apiserver.registry.object_edits import Object

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.apiserver.admission.attributes import CREATE, UPDATE, AdmissionAttributes
from traincrew.embedded.apiserver.admission.chain import AdmissionChain
from traincrew.embedded.apiserver.registry import builtin
from traincrew.embedded.apiserver.schema import builtin_kinds

NAMESPACE: Object = {"kind": "Namespace", "metadata": {"name": "default"}}
PLURALS = {
    "Namespace": "namespaces",
    "ServiceAccount": "serviceaccounts",
    "LimitRange": "limitranges",
    "PriorityClass": "priorityclasses.scheduling.k8s.io",
}


class Objects:
    """Listers over these objects. The namespace is ignored."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self._objects = objects

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        return next((each for each in self.list(resource, namespace) if each["metadata"]["name"] == name), None)

    def list(self, resource: str, namespace: str) -> list[Object]:
        return [each for each in self._objects if PLURALS[each["kind"]] == resource]

    def list_accepted(self, resource: str, namespace: str) -> Sequence[Object]:
        return self.list(resource, namespace)

    def default_priority_class(self) -> Object | None:
        return next((each for each in self._objects if each.get("globalDefault")), None)


@functools.cache
def info(api_version: str, kind: str) -> ResourceInfo:
    resources = builtin_kinds.load().resources()
    return next(each for each in resources if (each.api_version, each.kind) == (api_version, kind))


def attributes(obj: Object, old: Object | None = None, subresource: str = "") -> AdmissionAttributes:
    metadata, operation = obj["metadata"], CREATE if old is None else UPDATE
    about = info(obj["apiVersion"], obj["kind"])
    return AdmissionAttributes(operation, about, metadata.get("namespace", ""), metadata.get("name", ""), subresource, obj, old)


def created(
    obj: Object,
    *objects: Object,
    context: builtin.WriteContext = builtin.WriteContext(),  # noqa: B008 - immutable
    disabled: Collection[str] = ("NamespaceLifecycle", "ServiceAccount"),
) -> Object:
    """The object before validation, changed in place. `objects` exist in the cluster."""
    rules = builtin.strategy(obj["apiVersion"].rpartition("/")[0], obj["kind"])
    rules.default(obj)
    AdmissionChain(Objects(objects), disabled).admit(attributes(obj))
    rules.prepare_for_create(obj, context)
    return obj


def updated(obj: Object, old: Object, subresource: str = "", context: builtin.WriteContext | None = None) -> Object:
    rules = builtin.strategy(obj["apiVersion"].rpartition("/")[0], obj["kind"])
    rules.default(obj)
    AdmissionChain(Objects(())).admit(attributes(obj, old, subresource))
    rules.prepare_for_update(obj, old, subresource, context or builtin.WriteContext())
    return obj
