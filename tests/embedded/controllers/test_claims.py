"""Which volume a claim gets, and what is said where it gets none."""

from __future__ import annotations

import pathlib
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st

from traincrew.apimachinery import quantities
from traincrew.embedded.controllers.claims import decisions, matching, protection, provisioner, resources
from traincrew.embedded.controllers.pods import Pod

Object = dict[str, Any]
MODES = ["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"]


def claim(size: str = "1Gi", modes: tuple[str, ...] = ("ReadWriteOnce",), **spec: Any) -> Object:
    meta = {"name": "c", "namespace": "n", "uid": "claim", "resourceVersion": "1"}
    spec = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, "storageClassName": "k", **spec}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}}


def volume(name: str = "v", size: str = "1Gi", modes: tuple[str, ...] = ("ReadWriteOnce",), **spec: Any) -> Object:
    spec = {"accessModes": list(modes), "capacity": {"storage": size}, "storageClassName": "k", **spec}
    return {"metadata": {"name": name, "labels": {"is": name}}, "spec": spec, "status": {"phase": "Available"}}


VOLUMES = st.lists(
    st.builds(
        lambda number, gigabytes, modes, kind, phase: (
            volume(f"v{number}", f"{gigabytes}Gi", tuple(modes), storageClassName=kind) | {"status": {"phase": phase}}
        ),
        st.integers(0, 99),
        st.integers(1, 6),
        st.lists(st.sampled_from(MODES), min_size=1, max_size=3, unique=True),
        st.sampled_from(["k", "other", ""]),
        st.sampled_from(["Available", "Available", "Released", "Bound"]),
    ),
    max_size=8,
)


@hypothesis.given(volumes=VOLUMES, size=st.integers(1, 6), modes=st.lists(st.sampled_from(MODES), min_size=1, unique=True))
def test_a_claim_gets_a_free_volume_that_has_all_it_asks_for_or_there_is_none(
    volumes: list[Object], size: int, modes: list[str]
) -> None:
    asked = claim(f"{size}Gi", tuple(modes))
    fitting = [
        each
        for each in volumes
        if each["status"]["phase"] == "Available"
        and each["spec"]["storageClassName"] == "k"
        and quantities.nanos(each["spec"]["capacity"]["storage"]) >= matching.requested(asked)
        and set(modes) <= set(each["spec"]["accessModes"])
    ]
    found = matching.best(asked, volumes, delayed=False)
    assert (found in fitting) if fitting else found is None


def world(*volumes: Object, **more: Any) -> decisions.ClaimContext:
    return decisions.ClaimContext({each["metadata"]["name"]: each for each in volumes}, more.pop("classes", {}), **more)


def test_the_smallest_volume_that_is_large_enough_is_taken() -> None:
    found = decisions.decide_claim(claim("2Gi"), world(volume("a", "1Gi"), volume("b", "5Gi"), volume("c", "3Gi")))
    assert found.bind is not None
    assert found.bind["metadata"]["name"] == "c"


def test_a_volume_that_another_claim_has_is_never_taken() -> None:
    taken = volume(claimRef={"namespace": "n", "name": "other", "uid": "x"})
    assert decisions.decide_claim(claim(storageClassName=""), world(taken)).bind is None


def test_a_claim_whose_class_is_given_as_empty_gets_no_default() -> None:
    default = {"metadata": {"name": "k", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
    found = decisions.decide_claim(claim(storageClassName=""), world(classes={"k": default}))
    assert found.event == (
        "Normal", "FailedBinding", "no persistent volumes available for this claim and no storage class is set",
    )  # fmt: skip
    asked = claim()
    del asked["spec"]["storageClassName"]
    assert decisions.decide_claim(asked, world(classes={"k": default})).assign == "k"


def waiting() -> Object:
    return {"metadata": {"name": "k"}, "provisioner": provisioner.NAME, "volumeBindingMode": "WaitForFirstConsumer"}


def consumer(**spec: Any) -> Pod:
    used = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    return msgspec.convert({"metadata": {"name": "p", "namespace": "n"}, "spec": {"volumes": used, **spec}}, Pod)


def test_a_claim_that_waits_for_its_first_consumer_is_bound_when_that_has_a_node() -> None:
    classes = {"k": waiting()}
    free = world(volume(), classes=classes)
    assert decisions.decide_claim(claim(), free).event == (
        "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding",
    )  # fmt: skip
    unplaced = world(volume(), classes=classes, consumers=[consumer()], nodes=2)
    assert decisions.decide_claim(claim(), unplaced).event == (
        "Normal", "WaitForPodScheduled", "waiting for pod p to be scheduled",
    )  # fmt: skip
    placed = world(volume(), classes=classes, consumers=[consumer(nodeName="x")], nodes=2)
    assert decisions.decide_claim(claim(), placed).bind is not None


def test_where_there_is_one_node_the_first_consumer_is_enough() -> None:
    assert decisions.decide_claim(claim(), world(volume(), classes={"k": waiting()}, consumers=[consumer()])).bind is not None
    asked = decisions.decide_claim(claim(), world(classes={"k": waiting()}, consumers=[consumer()]))
    assert asked.provision == waiting()


@pytest.mark.parametrize(
    ("policy", "phase", "message"),
    [("Retain", "", ""), ("Recycle", "Failed", "VolumeFailedRecycle"), ("Delete", "Failed", "VolumeFailedDelete")],
)
def test_a_hand_made_volume_is_never_emptied(policy: str, phase: str, message: str) -> None:
    held = volume(claimRef={"namespace": "n", "name": "c", "uid": "gone"}, persistentVolumeReclaimPolicy=policy)
    held["status"]["phase"] = "Released"
    lot = decisions.decide_volume(held, None)
    assert lot.phase == phase
    assert (lot.event[1] if lot.event else "") == message
    assert not provisioner.to_be_deleted(held)


def test_a_volume_made_for_a_claim_goes_when_that_is_gone_and_not_before() -> None:
    found = {"metadata": {"name": "k"}, "reclaimPolicy": "Delete"}
    made = provisioner.build_volume(claim(), found, pathlib.PurePath("/root"))
    assert made["spec"]["hostPath"]["path"] == "/root/pvc-claim"
    assert resources.reserved_for(made, claim())
    for phase, goes in (("Available", False), ("Bound", False), ("Released", True)):
        assert provisioner.to_be_deleted(made | {"status": {"phase": phase}}) is goes


def test_what_is_used_keeps_its_finalizer() -> None:
    held = claim()
    assert protection.protected_finalizers(held, protection.CLAIM, used=False) == [protection.CLAIM]
    held["metadata"] |= {"finalizers": ["x", protection.CLAIM], "deletionTimestamp": "now"}
    assert protection.protected_finalizers(held, protection.CLAIM, used=True) is None
    assert protection.protected_finalizers(held, protection.CLAIM, used=False) == ["x"]
    assert not protection.uses(consumer(), held)
    assert protection.uses(consumer(nodeName="x"), held)
    own = [{"name": "v", "ephemeral": {}}]
    held["metadata"] |= {"name": "p-v"}
    assert not protection.uses(consumer(nodeName="x", volumes=own), held), "it was made for another pod"
    held["metadata"] |= {"ownerReferences": [{"controller": True, "uid": ""}]}
    assert protection.uses(consumer(nodeName="x", volumes=own), held)
