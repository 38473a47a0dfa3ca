"""A job that a test has submitted. Each property reads the current state from the API server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.cluster.api import KINDS, Api, Object, eventually

PREFIX = "training.kubeflow.org/"


class SubmittedJob:
    def __init__(self, api: Api, namespace: str, body: Object) -> None:
        stored = api.create(namespace, body)
        self.api, self.namespace = api, namespace
        self.kind: str = body["kind"]
        self.name: str = body["metadata"]["name"]
        self.uid: str = stored["metadata"]["uid"]
        self.plural = KINDS[self.kind]
        self._born: str = stored["metadata"]["resourceVersion"]

    def read(self) -> Object:
        return self.api.get(self.plural, self.namespace, self.name)

    @property
    def gone(self) -> bool:
        return self.api.find(self.plural, self.namespace, self.name) is None

    @property
    def status(self) -> Object:
        found: Object = self.read().get("status") or {}
        return found

    @property
    def conditions(self) -> list[Object]:
        found: list[Object] = self.status.get("conditions") or []
        return found

    def states(self) -> dict[str, str]:
        """Condition types and their statuses, in the order of the list."""
        return {entry["type"]: entry["status"] for entry in self.conditions}

    def condition(self, type: str) -> Object:
        return next(entry for entry in self.conditions if entry["type"] == type)

    def is_true(self, type: str) -> bool:
        return self.states().get(type) == "True"

    def becomes(self, type: str) -> Object:
        """Wait until a condition is true, and return it."""
        return self._awaited(type, lambda: [self.status])

    def passes_through(self, type: str) -> Object:
        """Wait until a condition has been true, even for a short time, and return its first value."""
        return self._awaited(type, self.history)

    def _awaited(self, type: str, statuses: Callable[[], list[Object]]) -> Object:
        def found() -> list[Object]:
            entries = (entry for status in statuses() for entry in status.get("conditions") or [])
            return [entry for entry in entries if (entry["type"], entry["status"]) == (type, "True")]

        awaited: list[Object] = eventually(found, because=f"{self.kind} {self.name} did not become {type}")
        return awaited[0]

    @property
    def why(self) -> Object:
        found: Object = self.status.get("why") or {}
        return found

    def counts(self, role: str) -> Object:
        """The counts of a role. Missing counts are zero."""
        found = self.status["replicaStatuses"][role]
        return {name: found.get(name, 0) for name in ("active", "succeeded", "failed")}

    def events(self, reason: str) -> list[Object]:
        found = self.api.all("events", self.namespace)
        return [e for e in found if e["involvedObject"].get("uid") == self.uid and e["reason"] == reason]

    def event(self, reason: str, text: str = "") -> Object:
        """Wait for an event with this reason and text, and return it."""
        found = eventually(
            lambda: [each for each in self.events(reason) if text in each["message"]],
            because=f"no event {reason} with {text!r} on {self.kind} {self.name}",
        )
        first: Object = found[0]
        return first

    def pods(self) -> dict[str, Object]:
        found = self.api.all("pods", self.namespace, f"{PREFIX}job-name={self.name}")
        return {pod["metadata"]["name"]: pod for pod in found}

    def uids(self) -> dict[str, str]:
        """The UIDs of the pods by name."""
        return {name: pod["metadata"]["uid"] for name, pod in self.pods().items()}

    def restart_counts(self) -> tuple[int, int]:
        """Charged restarts and disruptions."""
        found = self.status.get("restarts") or {}
        return found.get("charged", 0), found.get("disruptions", 0)

    def services(self) -> set[str]:
        found = self.api.all("services", self.namespace, f"{PREFIX}job-name={self.name}")
        return {service["metadata"]["name"] for service in found}

    def patch(self, spec: Object) -> None:
        self.api.patch(self.plural, self.namespace, self.name, {"spec": spec})

    def suspend(self, yes: bool = True) -> None:
        self.patch({"runPolicy": {"suspend": yes}})

    def history(self) -> list[Object]:
        """Every status of the job since its creation, as a watch shows them."""
        last = self.read()["metadata"]["resourceVersion"]
        query: dict[str, Any] = {
            "watch": "true", "resourceVersion": self._born, "timeoutSeconds": "20",
            "fieldSelector": f"metadata.name={self.name}",
        }  # fmt: skip
        path = self.api.server + self.api.path(self.plural, self.namespace)
        found = []
        with self.api.session.get(path, params=query, stream=True, timeout=60) as stream:
            for line in stream.iter_lines():
                event = json.loads(line)
                assert event["type"] in ("ADDED", "MODIFIED"), event
                found.append(event["object"].get("status") or {})
                if event["object"]["metadata"]["resourceVersion"] == last:
                    return found
        raise AssertionError(f"the watch did not reach version {last}")


Submit = Callable[[Object], SubmittedJob]


def env(pod: Object, container: int = 0) -> dict[str, str | None]:
    """The environment of a container. The last of several values counts, as in a container runtime."""
    return {entry["name"]: entry.get("value") for entry in pod["spec"]["containers"][container].get("env") or []}


def labels(pod: Object) -> dict[str, str]:
    """The labels of the operator on an object, without their prefix."""
    found: dict[str, str] = pod["metadata"].get("labels") or {}
    return {key.removeprefix(PREFIX): value for key, value in found.items() if key.startswith(PREFIX)}
