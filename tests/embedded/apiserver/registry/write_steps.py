"""Objects on their way through defaults, admission and strategy, without a server."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

from tests.embedded.apiserver.registry.corpus import Object

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
    """Listers over these objects, whatever their namespace."""

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
    found = builtin_kinds.load().resources()
    return next(each for each in found if (each.api_version, each.kind) == (api_version, kind))


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
    """The object as it is before validation, in place; `objects` are in the cluster already."""
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
