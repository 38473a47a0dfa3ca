"""Nodes whose leases the test renews. Nothing runs on them."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

from tests.cluster.api import Api, Object
from tests.cluster.fake_kubelet import now

PERIOD = 1.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CONDITIONS = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}


class Heartbeats:
    """Renews the leases of nodes in a thread, inside the block."""

    def __init__(self, kubeconfig: Any) -> None:
        self._api, self._kubeconfig = Api(kubeconfig), kubeconfig
        self._beating: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat)

    def __enter__(self) -> Heartbeats:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def join(self, *names: str) -> None:
        for name in names:
            self._api.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
            spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": _micro()}
            self._api.call("POST", LEASES, {"metadata": {"name": name}, "spec": spec})
            self.report(name)

    def report(self, name: str) -> None:
        """The status of a healthy node, and its lease from now on."""
        conditions = [
            {
                "type": kind,
                "status": status,
                "reason": "r",
                "message": "m",
                "lastHeartbeatTime": now(),
                "lastTransitionTime": now(),
            }
            for kind, status in CONDITIONS.items()
        ]
        body = {"status": {"conditions": conditions}}
        self._api.call("PATCH", f"/api/v1/nodes/{name}/status", body, "application/strategic-merge-patch+json")
        self._beating.add(name)

    def silence(self, name: str) -> None:
        self._beating.discard(name)

    def leave(self, *names: str) -> None:
        for name in names:
            self.silence(name)
            self._api.call("DELETE", f"/api/v1/nodes/{name}")
            self._api.call("DELETE", f"{LEASES}/{name}")

    def node(self, name: str) -> Object:
        return self._api.call("GET", f"/api/v1/nodes/{name}")

    def _beat(self) -> None:
        api = Api(self._kubeconfig)
        while not self._stop.wait(PERIOD):
            for name in tuple(self._beating):
                body = {"spec": {"renewTime": _micro()}}
                api.call("PATCH", f"{LEASES}/{name}", body, "application/merge-patch+json")


def _micro() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
