"""The test plays the kubelet: it writes pod statuses as a kubelet would. Nothing runs."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tests.cluster.api import Api, Object, eventually


def now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class FakeKubelet:
    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.namespace = api, namespace

    def pod(self, name: str) -> Object:
        """The pod of that name, waited for; one that is being deleted does not count."""

        def there() -> Object | None:
            found = self.api.find("pods", self.namespace, name)
            return found if found and not found["metadata"].get("deletionTimestamp") else None

        found: Object = eventually(there, because=f"pod {name} was not created")
        return found

    def bind(self, name: str, node: str = "node-1") -> None:
        """Puts a pod on a node, so that its deletion is graceful."""
        if self.pod(name)["spec"].get("nodeName"):
            return
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
        path = self.api.path("pods", self.namespace, name, "binding")
        self.api.call("POST", path, body)

    def status(self, name: str, status: Object) -> Object:
        return self.api.patch("pods", self.namespace, name, {"status": status}, "status")

    def run(self, *names: str, ready: bool = True, bind: bool = True) -> None:
        for name in names:
            if bind:
                self.bind(name)
            containers = self.pod(name)["spec"]["containers"]
            state = {"running": {"startedAt": now()}}
            statuses = [_container(c["name"], c["image"], state, ready) for c in containers]
            conditions = [{"type": "Ready", "status": "True" if ready else "False"}, {"type": "PodScheduled", "status": "True"}]
            self.status(name, {"phase": "Running", "startTime": now(), "conditions": conditions, "containerStatuses": statuses})

    def succeed(self, *names: str) -> None:
        for name in names:
            self._end(name, "Succeeded", 0, "Completed", "")

    def fail(self, *names: str, code: int = 1, reason: str = "Error", message: str = "") -> None:
        for name in names:
            self._end(name, "Failed", code, reason, message)

    def fail_without_status(self, name: str, reason: str = "", message: str = "", conditions: Any = None) -> None:
        """Failed with no word about containers, as after an eviction."""
        body = {"phase": "Failed", "reason": reason, "message": message, "containerStatuses": None}
        if conditions:
            body["conditions"] = conditions
        self.status(name, body)

    def waiting(self, name: str, reason: str, message: str, container: int = 0) -> None:
        spec = self.pod(name)["spec"]["containers"][container]
        state = {"waiting": {"reason": reason, "message": message}}
        self.status(name, {"phase": "Pending", "containerStatuses": [_container(spec["name"], spec["image"], state, False)]})

    def restart(self, name: str, count: int, code: int = 1, message: str = "") -> None:
        """The container has been started again inside its pod."""
        spec = self.pod(name)["spec"]["containers"][0]
        entry = _container(spec["name"], spec["image"], {"running": {"startedAt": now()}}, True)
        last = {"terminated": {"exitCode": code, "reason": "Error", "message": message, "finishedAt": now()}}
        entry |= {"restartCount": count, "lastState": last}
        self.status(name, {"phase": "Running", "containerStatuses": [entry]})

    def unschedulable(self, name: str, message: str) -> None:
        self.pod(name)
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        self.status(name, {"phase": "Pending", "conditions": [condition]})

    def gone(self, name: str) -> None:
        """Ends a graceful deletion, as the kubelet does when the containers have stopped."""
        self.api.delete("pods", self.namespace, name, grace=0)

    def _end(self, name: str, phase: str, code: int, reason: str, message: str) -> None:
        containers = self.pod(name)["spec"]["containers"]
        ended = {"exitCode": code, "reason": reason, "message": message, "finishedAt": now(), "startedAt": now()}
        statuses = [_container(c["name"], c["image"], {"terminated": ended}, False) for c in containers]
        self.status(name, {"phase": phase, "containerStatuses": statuses})


def _container(name: str, image: str, state: Object, ready: bool) -> Object:
    return {"name": name, "image": image, "imageID": image, "ready": ready, "restartCount": 0, "state": state, "lastState": {}}
