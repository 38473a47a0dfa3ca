"""Volume binding."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.scheduling.builders import bound, messages, node, pod, run_cycle

from traincrew.scheduling import objects
from traincrew.scheduling.volumes import StorageObjects

USING = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
AFTER = " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


def claim(spec: dict[str, Any], phase: str = "Pending", **annotations: str) -> objects.PersistentVolumeClaim:
    meta = {"name": "data", "namespace": "team", "annotations": {key.replace("__", "/"): v for key, v in annotations.items()}}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": {"phase": phase}}, objects.PersistentVolumeClaim)


def volume(*hosts: str) -> objects.PersistentVolume:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(hosts)}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}} if hosts else None
    return msgspec.convert({"metadata": {"name": "v"}, "spec": {"nodeAffinity": affinity}}, objects.PersistentVolume)


def storage(
    bound_claim: objects.PersistentVolumeClaim | None = None,
    bound_volume: objects.PersistentVolume | None = None,
    mode: str = "Immediate",
) -> StorageObjects:
    classes = {"std": msgspec.convert({"metadata": {"name": "std"}, "volumeBindingMode": mode}, objects.StorageClass)}
    return StorageObjects(
        {("team", "data"): bound_claim} if bound_claim else {}, {"v": bound_volume} if bound_volume else {}, classes
    )


def test_a_claim_must_exist_and_be_bound() -> None:
    words = '0/1 nodes are available: persistentvolumeclaim "data" not found.'
    assert messages(run_cycle(pod("p", USING), storage=storage())) == {"p": words + AFTER}
    words = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    assert messages(run_cycle(pod("p", USING), storage=storage(claim({"storageClassName": "std"})))) == {"p": words + AFTER}
    bound_claim = claim({"volumeName": "v"}, "Bound")
    assert bound(run_cycle(pod("p", USING), storage=storage(bound_claim, volume()))) == {"p": "machine"}


def test_the_node_affinity_of_a_volume_is_respected() -> None:
    bound_claim = claim({"volumeName": "v"}, "Bound")
    nodes = [node("a"), node("b")]
    assert bound(run_cycle(pod("p", USING), nodes=nodes, storage=storage(bound_claim, volume("b")))) == {"p": "b"}
    words = "0/1 nodes are available: 1 node(s) had volume node affinity conflict."
    assert messages(run_cycle(pod("p", USING), nodes=[node("a")], storage=storage(bound_claim, volume("b")))) == {
        "p": words + AFTER
    }
    words = "0/1 nodes are available: 1 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)."
    assert messages(run_cycle(pod("p", USING), storage=storage(bound_claim))) == {"p": words + AFTER}


def test_a_wait_for_first_consumer_claim_gets_the_selected_node_and_the_pod_waits_for_it() -> None:
    waiting = claim({"storageClassName": "std"})
    result = run_cycle(pod("p", USING), storage=storage(waiting, mode="WaitForFirstConsumer"))
    assert (bound(result), messages(result)) == ({}, {})
    assert [(each.claim.metadata.name, each.node) for each in result.node_selections] == [("data", "machine")]
    chosen = claim({"storageClassName": "std"}, **{"volume.kubernetes.io__selected-node": "machine"})
    again = run_cycle(pod("p", USING), storage=storage(chosen, mode="WaitForFirstConsumer"))
    assert (bound(again), messages(again), again.node_selections) == ({}, {}, [])
