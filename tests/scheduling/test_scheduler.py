"""The scheduler on the embedded API server."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import AsyncIterator

import pytest
from tests.scheduling.clusters import NAMESPACE, NODES, Cluster, cluster, eventually, options, scheduling

from traincrew.embedded import daemon
from traincrew.model import resources
from traincrew.model.resources import Resource
from traincrew.scheduling.decisions import Profile, single_machine_profile

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
CPU = {"cpu": "2"}


@pytest.fixture
async def there(tmp_path: pathlib.Path) -> AsyncIterator[Cluster]:
    async with cluster(tmp_path) as found:
        yield found


@pytest.fixture
async def served(there: Cluster) -> AsyncIterator[Cluster]:
    await there.node()
    async with scheduling(there):
        yield there


async def test_a_pod_is_bound_and_an_event_is_recorded(served: Cluster) -> None:
    await served.pod("p")
    assert await served.bound("p") == {"p": "machine"}
    assert (await served.condition("p"))["status"] == "True"
    event = await served.event("p", "Scheduled")
    assert event["message"] == "Successfully assigned default/p to machine"
    assert (event["type"], event["action"], event["reportingComponent"]) == ("Normal", "Binding", "default-scheduler")


async def test_an_unschedulable_pod_gets_a_condition_and_is_bound_once_it_fits(served: Cluster) -> None:
    await served.pod("first", requests={"cpu": "3"})
    await served.bound("first")
    await served.pod("second", requests=CPU)
    words = (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )
    condition = await served.condition("second")
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Unschedulable", words)
    event = await served.event("second", "FailedScheduling")
    assert (event["message"], event["type"], event["action"]) == (words, "Warning", "Scheduling")
    await served.client.delete(resources.PODS, NAMESPACE, "first")
    await served.bound("second")
    assert (await served.condition("second", lambda each: each["status"] == "True")).get("message") is None


async def test_an_unchanged_condition_is_not_written_again(served: Cluster) -> None:
    await served.pod("p", requests={"cpu": "64"})
    await served.event("p", "FailedScheduling")
    before = (await served.get(resources.PODS, "p"))["metadata"]["resourceVersion"]
    await served.pod("q", requests=CPU)
    await served.bound("q")
    await served.pod("r", requests={"cpu": "32"})
    await served.event("r", "FailedScheduling")
    assert (await served.get(resources.PODS, "p"))["metadata"]["resourceVersion"] == before


async def test_pods_wait_for_the_first_node_and_for_free_resources(there: Cluster) -> None:
    async with scheduling(there):
        await there.pod("p", requests=CPU)
        assert (await there.condition("p"))["message"] == "no nodes available to schedule pods"
        await there.node("small", cpu="1")
        await there.condition("p", lambda each: "Insufficient cpu" in each["message"])
        body = {"status": {"allocatable": {"cpu": "2"}}}
        await there.client.patch(NODES, None, "small", json.dumps(body).encode(), subresource="status")
        assert await there.bound("p") == {"p": "small"}


async def test_gated_pods_and_pods_of_other_schedulers_are_not_bound(served: Cluster) -> None:
    await served.pod("gated", {"schedulingGates": [{"name": "wait"}]})
    await served.pod("foreign", {"schedulerName": "mine"})
    await served.pod("p")
    await served.bound("p")
    assert (await served.condition("gated"))["reason"] == "SchedulingGated"
    assert not (await served.get(resources.PODS, "foreign"))["spec"].get("nodeName")
    await served.client.patch(resources.PODS, NAMESPACE, "gated", b'{"spec": {"schedulingGates": null}}')
    await served.bound("gated")


async def test_a_pod_of_higher_priority_preempts_others(served: Cluster) -> None:
    await served.create(resources.PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 1000})
    await served.pod("low", requests={"cpu": "4"}, finalizers=["example.com/look"])
    await served.bound("low")
    high = await served.pod("high", {"priorityClassName": "high"}, requests=CPU)
    victim = await eventually(lambda: served.get(resources.PODS, "low"), lambda found: "deletionTimestamp" in found["metadata"])
    message = next(each for each in victim["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert (message["status"], message["reason"]) == ("True", "PreemptionByScheduler")
    assert message["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    event = await served.event("low", "Preempted")
    assert event["message"] == f"Preempted by pod {high['metadata']['uid']} on node machine"
    assert event["related"]["name"] == "high"
    waiting = await eventually(
        lambda: served.get(resources.PODS, "high"), lambda found: found["status"].get("nominatedNodeName") == "machine"
    )
    assert "nodeName" not in waiting["spec"]
    await served.client.patch(resources.PODS, NAMESPACE, "low", b'{"metadata": {"finalizers": null}}')
    await served.bound("high")


@pytest.mark.parametrize("system", ["volcano", "plugins"])
async def test_gangs_are_bound_as_a_whole_or_not_at_all(served: Cluster, system: str) -> None:
    volcano = system == "volcano"
    await served.install_crd("volcano.yaml" if volcano else "scheduler-plugins.yaml")
    groups = resources.VOLCANO_POD_GROUPS if volcano else resources.PLUGINS_POD_GROUPS

    async def make(name: str, size: int, cpu: str) -> None:
        await served.create(groups, {"metadata": {"name": name}, "spec": {"minMember": size, "minResources": {"cpu": cpu}}})
        mark = (
            {"annotations": {"scheduling.k8s.io/group-name": name}}
            if volcano
            else {"labels": {groups.group + "/pod-group": name}}
        )
        scheduler = {"schedulerName": "volcano" if volcano else "scheduler-plugins-scheduler"}
        for index in range(size):
            await served.pod(f"{name}-{index}", scheduler, requests={"cpu": cpu}, **mark)

    async def phase(name: str, wanted: str) -> None:
        await eventually(lambda: served.get(groups, name), lambda found: found.get("status", {}).get("phase") == wanted)

    await make("one", 2, "1")
    assert await served.bound("one-0", "one-1") == {"one-0": "machine", "one-1": "machine"}
    await phase("one", "Running" if volcano else "Scheduling")
    await make("two", 3, "1")
    await served.condition("two-0", lambda each: "tasks in gang unschedulable" in each["message"])
    await served.condition("two-2", lambda each: "Insufficient cpu" in each["message"])
    for index in range(2):
        await served.client.delete(resources.PODS, NAMESPACE, f"one-{index}")
    await served.bound("two-0", "two-1", "two-2")


async def test_volcano_groups_are_enqueued_as_resources_become_free(served: Cluster) -> None:
    await served.install_crd("volcano.yaml")
    groups = resources.VOLCANO_POD_GROUPS
    for name, cpu in (("fits", "3"), ("waits", "2")):
        await served.create(groups, {"metadata": {"name": name}, "spec": {"minMember": 1, "minResources": {"cpu": cpu}}})
    await eventually(lambda: served.get(groups, "fits"), lambda found: found.get("status", {}).get("phase") == "Inqueue")
    await eventually(lambda: served.get(groups, "waits"), lambda found: found.get("status", {}).get("phase") == "Pending")
    assert (await served.event("waits", "Unschedulable"))["message"] == "resource in cluster is overused: cpu"
    await served.client.delete(groups, NAMESPACE, "fits")
    await eventually(lambda: served.get(groups, "waits"), lambda found: found["status"]["phase"] == "Inqueue")


async def test_the_first_consumer_of_a_claim_selects_its_node(served: Cluster) -> None:
    mode = {"provisioner": "example.com/p", "volumeBindingMode": "WaitForFirstConsumer"}
    await served.create(CLASSES, {"metadata": {"name": "late"}, **mode})
    size = {"requests": {"storage": "1Gi"}}
    spec = {"storageClassName": "late", "accessModes": ["ReadWriteOnce"], "resources": size}
    await served.create(CLAIMS, {"metadata": {"name": "data"}, "spec": spec})
    await served.pod("p", {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]})
    note = "volume.kubernetes.io/selected-node"
    await eventually(
        lambda: served.get(CLAIMS, "data"), lambda found: found["metadata"].get("annotations", {}).get(note) == "machine"
    )
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "storageClassName": "late",
    }
    await served.create(VOLUMES, {"metadata": {"name": "v"}, "spec": volume})
    binding = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "v"}}
    await served.client.patch(CLAIMS, NAMESPACE, "data", json.dumps(binding).encode())
    assert await served.bound("p") == {"p": "machine"}


async def test_a_restarted_scheduler_continues(there: Cluster) -> None:
    await there.node(cpu="3")
    async with scheduling(there):
        await there.pod("a", requests=CPU)
        await there.bound("a")
    await there.pod("b", requests=CPU)
    await there.pod("c", requests={"cpu": "1"})
    async with scheduling(there):
        await there.bound("c")
        assert "Insufficient cpu" in (await there.condition("b"))["message"]


async def test_many_pods_at_once(served: Cluster) -> None:
    for index in range(300):
        await served.pod(f"p-{index}")
    await served.bound(*(f"p-{index}" for index in range(300)))


async def test_overcommitted_resources_are_configurable(there: Cluster) -> None:
    await there.node()
    async with scheduling(there, Profile(overcommitted=frozenset({"cpu"}), suggests_options=True)):
        await there.pod("a", requests={"cpu": "64"})
        await there.bound("a")
        await there.pod("b", requests={"memory": "64Gi"})
        assert "`traincrew up --overcommit memory`" in (await there.condition("b"))["message"]


async def test_a_cluster_with_a_scheduler_profile_schedules_its_pods(tmp_path: pathlib.Path) -> None:
    chosen = dataclasses.replace(options(tmp_path), scheduling=single_machine_profile())
    async with daemon.run(chosen) as started:
        there = Cluster(started.control_plane.system_client("test"), started.control_plane)
        await there.pod("p", requests={"cpu": "1000"})
        assert await there.bound("p") == {"p": "traincrew"}
