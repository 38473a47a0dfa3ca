"""Every status that the node would tell of a pod is one that an API server takes as it is."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.api import Api
from tests.embedded.kubelet.lifecycle.pods import pod, sidecar
from tests.embedded.kubelet.lifecycle.worlds import Run, World

HOOK = {"exec": {"command": ["hook"]}}


def finished() -> World:
    mounts = [{"name": "data", "mountPath": "/data", "readOnly": True}]
    made = pod({"name": "main", "volumeMounts": mounts}, restartPolicy="Never", volumes=[{"name": "data", "emptyDir": {}}])
    return World(made, {"main": [Run(5)]})


def crashing() -> World:
    runs = [Run(1, 1), Run(1, 0), Run(1, 137, oom=True), Run(refused="StartError"), Run(refused="CreateContainerError")]
    return World(pod(), {"main": runs})


def initializing() -> World:
    inits = ["one", sidecar("proxy"), "two", sidecar("cache")]
    runs = {"one": [Run(1)], "two": [Run(2, 1), Run(2, 0, oom=True), Run(1)], "a": [Run(3)], "b": [Run(5, 1), Run(5)]}
    return World(pod("a", "b", inits=inits, restartPolicy="OnFailure"), runs)


def lost() -> World:
    world = World(pod(restartPolicy="Never"))
    world.lose(20)
    return world


def late() -> World:
    return World(pod(activeDeadlineSeconds=20, inits=["one"]), {"one": [Run(1)]})


def deleted() -> World:
    hooked = {"name": "main", "lifecycle": {"preStop": HOOK, "postStart": HOOK}, "readinessProbe": HOOK}
    world = World(pod(hooked, inits=[sidecar("proxy")]))
    world.delete(20)
    return world


@pytest.mark.parametrize("life", [finished, crashing, initializing, lost, late, deleted], ids=lambda life: life.__name__)
def test_an_api_server_takes_every_status_of_a_life_as_it_is(life: Any, api: Api, namespace: str) -> None:
    world: World = life().live(400)
    # The pod is bound to a node that is not there: nobody else tells its status.
    spec = {**world.pod["spec"], "nodeName": "nowhere", "automountServiceAccountToken": False}
    api.create(namespace, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"}, "spec": spec})
    assert len(world.statuses) > 3
    for status in world.statuses:
        known = api.get("pods", namespace, "train")
        told = api.replace("pods", namespace, "train", {**known, "status": status}, "status")["status"]
        assert told == status
