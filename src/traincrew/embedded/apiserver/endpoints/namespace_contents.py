"""The objects that every namespace contains: the default service account and the CA certificate.

In Kubernetes, controllers create both asynchronously. Here they are created with the namespace, so that the next request can
create a pod.
"""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.requests.scope import RequestScope
from traincrew.embedded.apiserver.storage.records import Key

ROOT_CA = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal "
    "service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)


async def create(scope: RequestScope, namespace: str) -> None:
    await _create(scope, Key("serviceaccounts", namespace, "default"), {"kind": "ServiceAccount", "apiVersion": "v1"})
    bundle: Object = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"ca.crt": scope.identity.authority.decode()}}
    bundle["metadata"] = {"annotations": {"kubernetes.io/description": ROOT_CA}}
    await _create(scope, Key("configmaps", namespace, "kube-root-ca.crt"), bundle)


async def _create(scope: RequestScope, key: Key, obj: Object) -> None:
    if scope.store.head(key) is not None:
        return
    metadata = {"name": key.name, "namespace": key.namespace, "uid": scope.new_uid(), "creationTimestamp": scope.now()}
    head = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": metadata | obj.get("metadata", {})}
    await scope.store.put(key, head | {key: value for key, value in obj.items() if key not in head}, 0)
