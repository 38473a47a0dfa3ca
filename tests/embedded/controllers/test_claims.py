"""Binding, protection and provisioning of claims."""

from __future__ import annotations

import pathlib
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st

from traincrew.apimachinery import quantities
from traincrew.embedded.controllers.claims import decisions, matching, protection, provisioner, storage_objects
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
def test_a_claim_gets_a_matching_free_volume_if_there_is_one(volumes: list[Object], size: int, modes: list[str]) -> None:
    pending = claim(f"{size}Gi", tuple(modes))
    fitting = [
        each
        for each in volumes
        if each["status"]["phase"] == "Available"
        and each["spec"]["storageClassName"] == "k"
        and quantities.nanos(each["spec"]["capacity"]["storage"]) >= matching.requested(pending)
        and set(modes) <= set(each["spec"]["accessModes"])
    ]
    chosen = matching.best(pending, volumes, delayed=False)
    assert (chosen in fitting) if fitting else chosen is None


def context(*volumes: Object, **more: Any) -> decisions.ClaimContext:
    return decisions.ClaimContext({each["metadata"]["name"]: each for each in volumes}, more.pop("classes", {}), **more)


def test_the_smallest_sufficient_volume_is_bound() -> None:
    decision = decisions.decide_claim(claim("2Gi"), context(volume("a", "1Gi"), volume("b", "5Gi"), volume("c", "3Gi")))
    assert decision.bind is not None
    assert decision.bind["metadata"]["name"] == "c"


def test_a_volume_reserved_for_another_claim_is_not_bound() -> None:
    reserved = volume(claimRef={"namespace": "n", "name": "other", "uid": "x"})
    assert decisions.decide_claim(claim(storageClassName=""), context(reserved)).bind is None


def test_a_claim_with_an_empty_class_gets_no_default_class() -> None:
    default = {"metadata": {"name": "k", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
    decision = decisions.decide_claim(claim(storageClassName=""), context(classes={"k": default}))
    assert decision.event == (
        "Normal", "FailedBinding", "no persistent volumes available for this claim and no storage class is set",
    )  # fmt: skip
    pending = claim()
    del pending["spec"]["storageClassName"]
    assert decisions.decide_claim(pending, context(classes={"k": default})).assign == "k"


def delayed_class() -> Object:
    return {"metadata": {"name": "k"}, "provisioner": provisioner.NAME, "volumeBindingMode": "WaitForFirstConsumer"}


def consumer(**spec: Any) -> Pod:
    used = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    return msgspec.convert({"metadata": {"name": "p", "namespace": "n"}, "spec": {"volumes": used, **spec}}, Pod)


def test_a_wait_for_first_consumer_claim_is_bound_when_its_consumer_has_a_node() -> None:
    classes = {"k": delayed_class()}
    free = context(volume(), classes=classes)
    assert decisions.decide_claim(claim(), free).event == (
        "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding",
    )  # fmt: skip
    unscheduled = context(volume(), classes=classes, consumers=[consumer()], nodes=2)
    assert decisions.decide_claim(claim(), unscheduled).event == (
        "Normal", "WaitForPodScheduled", "waiting for pod p to be scheduled",
    )  # fmt: skip
    scheduled = context(volume(), classes=classes, consumers=[consumer(nodeName="x")], nodes=2)
    assert decisions.decide_claim(claim(), scheduled).bind is not None


def test_with_a_single_node_a_first_consumer_is_sufficient() -> None:
    assert (
        decisions.decide_claim(claim(), context(volume(), classes={"k": delayed_class()}, consumers=[consumer()])).bind
        is not None
    )
    decision = decisions.decide_claim(claim(), context(classes={"k": delayed_class()}, consumers=[consumer()]))
    assert decision.provision == delayed_class()


@pytest.mark.parametrize(
    ("policy", "phase", "message"),
    [("Retain", "", ""), ("Recycle", "Failed", "VolumeFailedRecycle"), ("Delete", "Failed", "VolumeFailedDelete")],
)
def test_a_volume_of_a_user_is_never_deleted(policy: str, phase: str, message: str) -> None:
    released = volume(claimRef={"namespace": "n", "name": "c", "uid": "gone"}, persistentVolumeReclaimPolicy=policy)
    released["status"]["phase"] = "Released"
    decision = decisions.decide_volume(released, None)
    assert decision.phase == phase
    assert (decision.event[1] if decision.event else "") == message
    assert not provisioner.to_be_deleted(released)


def test_a_provisioned_volume_is_deleted_after_it_is_released() -> None:
    storage_class = {"metadata": {"name": "k"}, "reclaimPolicy": "Delete"}
    built = provisioner.build_volume(claim(), storage_class, pathlib.PurePath("/root"))
    assert built["spec"]["hostPath"]["path"] == "/root/pvc-claim"
    assert storage_objects.reserved_for(built, claim())
    for phase, deleted in (("Available", False), ("Bound", False), ("Released", True)):
        assert provisioner.to_be_deleted(built | {"status": {"phase": phase}}) is deleted


def test_a_used_claim_keeps_its_finalizer() -> None:
    stored = claim()
    assert protection.protected_finalizers(stored, protection.CLAIM, used=False) == [protection.CLAIM]
    stored["metadata"] |= {"finalizers": ["x", protection.CLAIM], "deletionTimestamp": "now"}
    assert protection.protected_finalizers(stored, protection.CLAIM, used=True) is None
    assert protection.protected_finalizers(stored, protection.CLAIM, used=False) == ["x"]
    assert not protection.uses(consumer(), stored)
    assert protection.uses(consumer(nodeName="x"), stored)
    own = [{"name": "v", "ephemeral": {}}]
    stored["metadata"] |= {"name": "p-v"}
    assert not protection.uses(consumer(nodeName="x", volumes=own), stored), "the claim belongs to another pod"
    stored["metadata"] |= {"ownerReferences": [{"controller": True, "uid": ""}]}
    assert protection.uses(consumer(nodeName="x", volumes=own), stored)
