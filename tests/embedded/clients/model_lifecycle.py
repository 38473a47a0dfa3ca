"""The life cycle of the official Python client's models on an API server: create, read, list, patch, replace, delete."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import kubernetes.client
import kubernetes.config
import kubernetes.watch
from tests.cluster.api import Api, eventually
from tests.embedded.apiserver.registry import object_edits
from tests.embedded.clients.normalization import normalize

Object = dict[str, Any]
RECORDED = pathlib.Path(__file__).parent / "recorded" / "models"
NAMESPACE = "models"
SERVER_FIELDS = (
    "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
    "finalizers",
)  # fmt: skip
"""Fields of the metadata that differ between any two servers or that only some servers set."""
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
"""A taint that only a controller would remove."""
APIS = {
    "v1": "CoreV1Api", "apps/v1": "AppsV1Api", "batch/v1": "BatchV1Api", "autoscaling/v2": "AutoscalingV2Api",
    "policy/v1": "PolicyV1Api", "rbac.authorization.k8s.io/v1": "RbacAuthorizationV1Api", "storage.k8s.io/v1": "StorageV1Api",
    "scheduling.k8s.io/v1": "SchedulingV1Api", "coordination.k8s.io/v1": "CoordinationV1Api",
    "discovery.k8s.io/v1": "DiscoveryV1Api", "events.k8s.io/v1": "EventsV1Api", "networking.k8s.io/v1": "NetworkingV1Api",
}  # fmt: skip


class ObjectLifecycle:
    """The life cycle of one object, by the calls that the client has for its kind."""

    def __init__(self, kubeconfig: pathlib.Path, kind: str) -> None:
        self._body = json.loads(json.dumps(base(kind)).replace('"NAMESPACE"', f'"{NAMESPACE}"'))
        self._client = kubernetes.config.new_client_from_config(str(kubeconfig))
        self._api = getattr(kubernetes.client, APIS[self._body["apiVersion"]])(self._client)
        self._namespaced = kind not in object_edits.CLUSTER_SCOPED
        self._word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()
        self._body["metadata"]["name"] = self._name = f"{NAMESPACE}-{kind.lower()}"
        self._body["metadata"]["labels"] = {"part": NAMESPACE}
        if self._namespaced:
            self._body["metadata"]["namespace"] = NAMESPACE

    def run(self) -> Object:
        """The result of each call, as the models hold it."""
        model = self._model(self._body)
        results = {"made": self._call("create", body=model)}
        read = self._call("read", name=self._name)
        results["read"] = read
        listed = self._call("list", label_selector=f"part={NAMESPACE}")
        results["listed"] = [each for each in listed.items if each.metadata.name == self._name]
        patch = {"metadata": {"annotations": {"note": "patched"}}}
        results["patched"] = self._call("patch", name=self._name, body=patch)
        read = self._call("read", name=self._name)
        read.metadata.labels["more"] = "yes"
        results["replaced"] = self._call("replace", name=self._name, body=read)
        results["watched"] = self._watched(listed.metadata.resource_version)
        results["deleted"] = self._call("delete", name=self._name)
        return {key: self._plain(value) for key, value in results.items()}

    def _watched(self, version: str) -> list[Object]:
        """The changes of this client since the list. Controllers may have changed the object in between."""
        watch, events = kubernetes.watch.Watch(), []
        verb, scope = self._verb("list"), self._scope_arguments()
        for event in watch.stream(verb, *scope, resource_version=version, label_selector=f"part={NAMESPACE}", timeout_seconds=20):
            seen = {"type": event["type"], "object": self._plain(event["object"])}
            if seen not in events and event["object"].metadata.annotations:
                events.append(seen)
            if "more" in event["object"].metadata.labels:
                watch.stop()
        return events

    def _model(self, body: Object) -> Any:
        class Response:
            data = json.dumps(body)

        version = self._body["apiVersion"].rpartition("/")[2].upper()
        named = f"{version}{self._body['kind']}"
        return self._client.deserialize(Response, "CoreV1Event" if named == "V1Event" else named)

    def _verb(self, verb: str) -> Callable[..., Any]:
        middle = "_namespaced_" if self._namespaced else "_"
        method: Callable[..., Any] = getattr(self._api, f"{verb}{middle}{self._word}")
        return method

    def _scope_arguments(self) -> list[str]:
        return [NAMESPACE] if self._namespaced else []

    def _call(self, verb: str, name: str = "", **arguments: Any) -> Any:
        named = [name] if name else []
        return self._verb(verb)(*named, *self._scope_arguments(), **arguments)

    def _plain(self, value: Any) -> Any:
        return _stripped(self._client.sanitize_for_serialization(value), self._body["kind"] == "ResourceQuota")


def _stripped(value: Any, later: bool) -> Any:
    """`later`: a controller writes the status at some later time."""
    if isinstance(value, list):
        return [_stripped(each, later) for each in value if each != NOT_READY]
    if isinstance(value, str):
        return normalize(value)
    if not isinstance(value, dict):
        return value
    left_out = (*SERVER_FIELDS, "status") if later else SERVER_FIELDS
    return {key: _stripped(each, later) for key, each in value.items() if key not in left_out}


def create_namespace(kubeconfig: pathlib.Path) -> None:
    api = Api(kubeconfig)
    if not api.find("namespaces", "", NAMESPACE):
        api.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    eventually(lambda: api.find("serviceaccounts", NAMESPACE, "default"))


def base(kind: str) -> Object:
    return object_edits.base(kind)


def kinds() -> list[str]:
    return sorted(object_edits.kinds())


def recorded(kind: str) -> Object:
    content: Object = json.loads((RECORDED / f"{kind}.json").read_text())
    return content


def record(kubeconfig: pathlib.Path) -> None:
    create_namespace(kubeconfig)
    RECORDED.mkdir(parents=True, exist_ok=True)
    for kind in kinds():
        (RECORDED / f"{kind}.json").write_text(
            json.dumps(ObjectLifecycle(kubeconfig, kind).run(), indent=1, sort_keys=True) + "\n"
        )
