"""A namespace in which a scenario of controllers runs, and the values that are compared."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from typing import Any

from tests.cluster.api import Api, Object, RejectedRequest, eventually
from tests.cluster.fake_kubelet import FakeKubelet

ROOTS = {
    "jobs": "/apis/batch/v1", "endpointslices": "/apis/discovery.k8s.io/v1", "storageclasses": "/apis/storage.k8s.io/v1",
    "horizontalpodautoscalers": "/apis/autoscaling/v2", "deployments": "/apis/apps/v1",
}  # fmt: skip
CLUSTER = ("persistentvolumes", "storageclasses", "nodes")
_PASSING = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
)
_DROPPED = ("resourceVersion", "managedFields", "creationTimestamp", "uid", "generation", "lastPhaseTransitionTime")


class ControllerScenario:
    def __init__(self, kubeconfig: Any, namespace: str) -> None:
        self.api, self.namespace = Api(kubeconfig), namespace
        self.kubelet = FakeKubelet(self.api, namespace)

    def path(self, plural: str, name: str = "", sub: str = "") -> str:
        place = "" if plural in CLUSTER else f"/namespaces/{self.namespace}"
        return "/".join(part for part in (ROOTS.get(plural, "/api/v1") + place, plural, name, sub) if part)

    def create(self, plural: str, body: Object) -> Object:
        return self.api.call("POST", self.path(plural), body)

    def get(self, plural: str, name: str) -> Object:
        return self.api.call("GET", self.path(plural, name))

    def all(self, plural: str) -> list[Object]:
        found: list[Object] = self.api.call("GET", self.path(plural))["items"]
        return sorted(found, key=lambda each: str(each["metadata"]["name"]))

    def patch(self, plural: str, name: str, body: Object, sub: str = "") -> Object:
        return self.api.call("PATCH", self.path(plural, name, sub), body, "application/merge-patch+json")

    def delete(self, plural: str, name: str) -> None:
        with contextlib.suppress(RejectedRequest):
            self.api.call("DELETE", self.path(plural, name))

    def gone(self, plural: str, name: str) -> bool:
        try:
            self.get(plural, name)
        except RejectedRequest as refused:
            return refused.code == 404
        return False

    def pods(self, count: int) -> list[str]:
        """Wait for this number of pods. Returns their names by index and age."""

        def there() -> tuple[list[str]] | None:
            found = [each for each in self.all("pods") if "deletionTimestamp" not in each["metadata"]]
            found = [each for each in found if each["status"].get("phase") not in ("Succeeded", "Failed")]
            return ([each["metadata"]["name"] for each in found],) if len(found) == count else None

        names: list[str] = eventually(there, because=f"there are not {count} pods")[0]
        return names

    def becomes(self, claim: Callable[[], Any]) -> Any:
        return eventually(claim, 40.0)

    def event(self, reason: str) -> None:
        """Wait for an event."""
        self.becomes(lambda: any(each["reason"] == reason for each in self.all("events")))

    def events(self, kind: str) -> list[Any]:
        """Events about objects of this kind, without their counts, which depend on the resync period."""
        found = [each for each in self.all("events") if each["involvedObject"]["kind"] == kind]
        keys = ("type", "reason", "message", "source", "reportingComponent")
        unique = {json.dumps(self.plain({key: each.get(key) for key in keys}), sort_keys=True) for each in found}
        return [json.loads(each) for each in sorted(unique)]

    def plain(self, obj: Any) -> Any:
        """Without values that differ between runs."""
        text = json.dumps(_without(obj)).replace(self.namespace, "NS")
        for pattern, word in _PASSING:
            text = pattern.sub(word, text)
        return json.loads(re.sub(r"(\bj(-\d+)?-)[a-z0-9]{5}\b", r"\1xxxxx", text))


def _without(obj: Any) -> Any:
    if isinstance(obj, dict):
        return {key: _without(value) for key, value in obj.items() if key not in _DROPPED and value not in (None, [], {})}
    return [_without(each) for each in obj] if isinstance(obj, list) else obj
