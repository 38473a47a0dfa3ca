"""A node without a kubelet: its pods run as soon as they are bound, and end as soon as they are deleted."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from tests.cluster.api import Api, Object

NODES = "/api/v1/nodes"


@contextlib.contextmanager
def running(api: Api, name: str, namespace: str, amounts: dict[str, str], labels: dict[str, str] | None = None) -> Iterator[None]:
    """amounts: what the node has beside CPUs, memory and room for pods. Pods of one namespace run on it."""
    node = Node(api, name, namespace)
    node.register({"cpu": "8", "memory": "64Gi", "pods": "100", **amounts}, labels or {})
    thread = threading.Thread(target=node.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        node.stop()
        thread.join()


class Node:
    def __init__(self, api: Api, name: str, namespace: str) -> None:
        self._api, self._name, self._pods = api, name, f"/api/v1/namespaces/{namespace}/pods"
        self._stopped = threading.Event()

    def register(self, amounts: dict[str, str], labels: dict[str, str]) -> None:
        status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        self._api.call(
            "POST",
            NODES,
            {"kind": "Node", "apiVersion": "v1", "metadata": {"name": self._name, "labels": labels}, "status": status},
        )
        # Admission has tainted it: no kubelet has said yet that it is ready.
        self._api.call("PATCH", f"{NODES}/{self._name}", {"spec": {"taints": None}}, "application/merge-patch+json")

    def run(self) -> None:
        terminating: set[str] = set()
        while not self._stopped.wait(0.3):
            for pod in self._api.call("GET", self._pods)["items"]:
                with contextlib.suppress(Exception):  # deleted meanwhile
                    self._sync(pod, terminating)

    def stop(self) -> None:
        self._stopped.set()

    def _sync(self, pod: Object, terminating: set[str]) -> None:
        meta, path = pod["metadata"], f"{self._pods}/{pod['metadata']['name']}"
        if meta.get("deletionTimestamp"):
            if meta["uid"] in terminating:
                self._api.call("DELETE", path, {"gracePeriodSeconds": 0})
            terminating.add(meta["uid"])
        elif pod["spec"].get("nodeName") == self._name and pod["status"]["phase"] == "Pending":
            self._api.call("PATCH", f"{path}/status", {"status": {"phase": "Running"}}, "application/merge-patch+json")
