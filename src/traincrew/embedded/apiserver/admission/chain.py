"""The admission chain: the plugins that a write passes, in the order of kube-apiserver."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.admission import (
    default_toleration_seconds,
    limit_ranger,
    namespace_lifecycle,
    priority,
    resource_quota,
    runtime_class,
    service_account,
    storage_object_in_use_protection,
)
from traincrew.embedded.apiserver.admission.attributes import AdmissionAttributes, Listers
from traincrew.embedded.apiserver.admission.pod_security import plugin as pod_security
from traincrew.embedded.apiserver.requests.scope import RequestScope, decoded

PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"


class AdmissionPlugin(NamedTuple):
    name: str
    admit: Callable[[AdmissionAttributes, Listers], None] | None = None
    """Mutating: changes the object in place. Raises StatusError."""
    validate: Callable[[AdmissionAttributes, Listers], list[str]] | None = None
    """Validating: returns warnings. Raises StatusError."""


PLUGINS = (
    AdmissionPlugin("NamespaceLifecycle", admit=namespace_lifecycle.admit),
    AdmissionPlugin("LimitRanger", admit=limit_ranger.admit, validate=limit_ranger.validate),
    AdmissionPlugin("ServiceAccount", admit=service_account.admit),
    AdmissionPlugin("PodSecurity", validate=pod_security.validate),
    AdmissionPlugin("Priority", admit=priority.admit),
    AdmissionPlugin("DefaultTolerationSeconds", admit=default_toleration_seconds.admit),
    AdmissionPlugin("StorageObjectInUseProtection", admit=storage_object_in_use_protection.admit),
    AdmissionPlugin("RuntimeClass", admit=runtime_class.admit),
    AdmissionPlugin("ResourceQuota", validate=resource_quota.validate),
)

NEED_CONTROLLERS = ("ServiceAccount", "StorageObjectInUseProtection")
"""Disabled if no controllers run. They create the objects that the plugin looks up, or remove those that it adds."""


class AdmissionChain:
    def __init__(self, listers: Listers, disabled: Collection[str] = ()) -> None:
        self._listers = listers
        self._plugins = [each for each in PLUGINS if each.name not in disabled]

    def admit(self, attributes: AdmissionAttributes) -> None:
        """The mutating phase. Raises StatusError."""
        for plugin in self._plugins:
            if plugin.admit is not None:
                plugin.admit(attributes, self._listers)

    def validate(self, attributes: AdmissionAttributes) -> list[str]:
        """The validating phase. Returns warnings. Raises StatusError."""
        warnings: list[str] = []
        for plugin in self._plugins:
            if plugin.validate is not None:
                warnings += plugin.validate(attributes, self._listers)
        return warnings


class StoreListers:
    """Listers over the store of the API server."""

    def __init__(self, scope: RequestScope) -> None:
        self._scope = scope

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        return self._scope.object(resource, namespace, name)

    def list(self, resource: str, namespace: str) -> list[Object]:
        return [decoded(each) for each in self._scope.store.list(resource, namespace)]

    def list_accepted(self, resource: str, namespace: str) -> Sequence[Object]:
        return [decoded(each) for each in self._scope.store.heads(resource, namespace)]

    def default_priority_class(self) -> Object | None:
        # Called for every new pod: only records that may be a default are decoded.
        candidates = [each for each in self._scope.store.list(PRIORITY_CLASSES) if b'"globalDefault":true' in each.value]
        classes = [each for each in map(decoded, candidates) if each.get("globalDefault")]
        return max(classes, key=lambda each: int(each["value"]), default=None)


def of(scope: RequestScope) -> AdmissionChain:
    return AdmissionChain(StoreListers(scope), disabled=() if scope.controllers_enabled else NEED_CONTROLLERS)
