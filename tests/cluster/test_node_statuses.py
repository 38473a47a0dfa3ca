"""Statuses and deletions of pods: an API server accepts every status that the node reports, unchanged."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.cluster.api import Api
from tests.embedded.kubelet.lifecycle.pods import pod, sidecar
from tests.embedded.kubelet.lifecycle.simulated_pod import Behavior, SimulatedPod

from traincrew.apimachinery import times

HOOK = {"exec": {"command": ["hook"]}}


def finished() -> SimulatedPod:
    mounts = [{"name": "data", "mountPath": "/data", "readOnly": True}]
    made = pod({"name": "main", "volumeMounts": mounts}, restartPolicy="Never", volumes=[{"name": "data", "emptyDir": {}}])
    return SimulatedPod(made, {"main": [Behavior(5)]})


def crashing() -> SimulatedPod:
    runs = [
        Behavior(1, 1),
        Behavior(1, 0),
        Behavior(1, 137, oom_killed=True),
        Behavior(start_failure="StartError"),
        Behavior(start_failure="CreateContainerError"),
    ]
    return SimulatedPod(pod(), {"main": runs})


def initializing() -> SimulatedPod:
    inits = ["one", sidecar("proxy"), "two", sidecar("cache")]
    runs = {
        "one": [Behavior(1)],
        "two": [Behavior(2, 1), Behavior(2, 0, oom_killed=True), Behavior(1)],
        "a": [Behavior(3)],
        "b": [Behavior(5, 1), Behavior(5)],
    }
    return SimulatedPod(pod("a", "b", inits=inits, restartPolicy="OnFailure"), runs)


def lost() -> SimulatedPod:
    world = SimulatedPod(pod(restartPolicy="Never"))
    world.lose_sandbox(20)
    return world


def late() -> SimulatedPod:
    return SimulatedPod(pod(activeDeadlineSeconds=20, inits=["one"]), {"one": [Behavior(1)]})


def deleted() -> SimulatedPod:
    hooked = {"name": "main", "lifecycle": {"preStop": HOOK, "postStart": HOOK}, "readinessProbe": HOOK}
    world = SimulatedPod(pod(hooked, inits=[sidecar("proxy")]))
    world.delete(20)
    return world


@pytest.mark.parametrize("life", [finished, crashing, initializing, lost, late, deleted], ids=lambda life: life.__name__)
def test_an_api_server_accepts_every_status_of_a_pod_lifecycle_unchanged(life: Any, api: Api, namespace: str) -> None:
    world: SimulatedPod = life().run(400)
    # The pod is bound to a node that is not there: nobody else reports its status.
    spec = {**world.object["spec"], "nodeName": "nowhere", "automountServiceAccountToken": False}
    api.create(namespace, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"}, "spec": spec})
    assert len(world.statuses) > 3
    for status in world.statuses:
        known = api.get("pods", namespace, "train")
        message = api.replace("pods", namespace, "train", {**known, "status": status}, "status")["status"]
        assert message == status


def test_a_shorter_grace_period_starts_at_the_first_delete_request(api: Api, namespace: str) -> None:
    spec = {"nodeName": "nowhere", "automountServiceAccountToken": False, "containers": [{"name": "main", "image": "train:1"}]}
    api.create(namespace, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"}, "spec": spec})
    api.delete("pods", namespace, "train", grace=60)
    first = api.get("pods", namespace, "train")["metadata"]
    time.sleep(1.1)  # times of deletion are whole seconds
    api.delete("pods", namespace, "train", grace=20)
    second = api.get("pods", namespace, "train")["metadata"]
    assert (first["deletionGracePeriodSeconds"], second["deletionGracePeriodSeconds"]) == (60, 20)
    ends = [times.parse(each["deletionTimestamp"]) for each in (first, second)]
    assert (ends[0] - ends[1]).total_seconds() == 40
