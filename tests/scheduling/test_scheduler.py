"""The scheduler on the embedded API server."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import AsyncIterator

import pytest
from tests.embedded.controllers.in_process_cluster import eventually
from tests.scheduling.clusters import NAMESPACE, Cluster, cluster, options, scheduling

from traincrew.embedded import daemon
from traincrew.model import resources
from traincrew.model.resources import NODES, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from traincrew.scheduling.decisions import Profile, single_machine_profile

CPU = {"cpu": "2"}


@pytest.fixture
async def bare_cluster(tmp_path: pathlib.Path) -> AsyncIterator[Cluster]:
    async with cluster(tmp_path) as running:
        yield running


@pytest.fixture
async def scheduled_cluster(bare_cluster: Cluster) -> AsyncIterator[Cluster]:
    await bare_cluster.node()
    async with scheduling(bare_cluster):
        yield bare_cluster


async def test_a_pod_is_bound_and_an_event_is_recorded(scheduled_cluster: Cluster) -> None:
    await scheduled_cluster.pod("p")
    assert await scheduled_cluster.bound("p") == {"p": "machine"}
    assert (await scheduled_cluster.condition("p"))["status"] == "True"
    event = await scheduled_cluster.event("p", "Scheduled")
    assert event["message"] == "Successfully assigned default/p to machine"
    assert (event["type"], event["action"], event["reportingComponent"]) == ("Normal", "Binding", "default-scheduler")


async def test_an_unschedulable_pod_gets_a_condition_and_is_bound_once_it_fits(scheduled_cluster: Cluster) -> None:
    await scheduled_cluster.pod("first", requests={"cpu": "3"})
    await scheduled_cluster.bound("first")
    await scheduled_cluster.pod("second", requests=CPU)
    words = (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )
    condition = await scheduled_cluster.condition("second")
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Unschedulable", words)
    event = await scheduled_cluster.event("second", "FailedScheduling")
    assert (event["message"], event["type"], event["action"]) == (words, "Warning", "Scheduling")
    await scheduled_cluster.client.delete(resources.PODS, NAMESPACE, "first")
    await scheduled_cluster.bound("second")
    assert (await scheduled_cluster.condition("second", lambda each: each["status"] == "True")).get("message") is None


async def test_an_unchanged_condition_is_not_written_again(scheduled_cluster: Cluster) -> None:
    await scheduled_cluster.pod("p", requests={"cpu": "64"})
    await scheduled_cluster.event("p", "FailedScheduling")
    before = (await scheduled_cluster.get(resources.PODS, "p"))["metadata"]["resourceVersion"]
    await scheduled_cluster.pod("q", requests=CPU)
    await scheduled_cluster.bound("q")
    await scheduled_cluster.pod("r", requests={"cpu": "32"})
    await scheduled_cluster.event("r", "FailedScheduling")
    assert (await scheduled_cluster.get(resources.PODS, "p"))["metadata"]["resourceVersion"] == before


async def test_pods_wait_for_the_first_node_and_for_free_resources(bare_cluster: Cluster) -> None:
    async with scheduling(bare_cluster):
        await bare_cluster.pod("p", requests=CPU)
        assert (await bare_cluster.condition("p"))["message"] == "no nodes available to schedule pods"
        await bare_cluster.node("small", cpu="1")
        await bare_cluster.condition("p", lambda each: "Insufficient cpu" in each["message"])
        body = {"status": {"allocatable": {"cpu": "2"}}}
        await bare_cluster.client.patch(NODES, None, "small", json.dumps(body).encode(), subresource="status")
        assert await bare_cluster.bound("p") == {"p": "small"}


async def test_gated_pods_and_pods_of_other_schedulers_are_not_bound(scheduled_cluster: Cluster) -> None:
    await scheduled_cluster.pod("gated", {"schedulingGates": [{"name": "wait"}]})
    await scheduled_cluster.pod("foreign", {"schedulerName": "mine"})
    await scheduled_cluster.pod("p")
    await scheduled_cluster.bound("p")
    assert (await scheduled_cluster.condition("gated"))["reason"] == "SchedulingGated"
    assert not (await scheduled_cluster.get(resources.PODS, "foreign"))["spec"].get("nodeName")
    await scheduled_cluster.client.patch(resources.PODS, NAMESPACE, "gated", b'{"spec": {"schedulingGates": null}}')
    await scheduled_cluster.bound("gated")


async def test_a_pod_of_higher_priority_preempts_others(scheduled_cluster: Cluster) -> None:
    await scheduled_cluster.create(resources.PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 1000})
    await scheduled_cluster.pod("low", requests={"cpu": "4"}, finalizers=["example.com/look"])
    await scheduled_cluster.bound("low")
    high = await scheduled_cluster.pod("high", {"priorityClassName": "high"}, requests=CPU)
    victim = await eventually(
        lambda: scheduled_cluster.get(resources.PODS, "low"), lambda found: "deletionTimestamp" in found["metadata"]
    )
    message = next(each for each in victim["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert (message["status"], message["reason"]) == ("True", "PreemptionByScheduler")
    assert message["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    event = await scheduled_cluster.event("low", "Preempted")
    assert event["message"] == f"Preempted by pod {high['metadata']['uid']} on node machine"
    assert event["related"]["name"] == "high"
    waiting = await eventually(
        lambda: scheduled_cluster.get(resources.PODS, "high"), lambda found: found["status"].get("nominatedNodeName") == "machine"
    )
    assert "nodeName" not in waiting["spec"]
    await scheduled_cluster.client.patch(resources.PODS, NAMESPACE, "low", b'{"metadata": {"finalizers": null}}')
    await scheduled_cluster.bound("high")


@pytest.mark.parametrize("system", ["volcano", "plugins"])
async def test_gangs_are_bound_as_a_whole_or_not_at_all(scheduled_cluster: Cluster, system: str) -> None:
    volcano = system == "volcano"
    await scheduled_cluster.install_crd("volcano.yaml" if volcano else "scheduler-plugins.yaml")
    groups = resources.VOLCANO_POD_GROUPS if volcano else resources.PLUGINS_POD_GROUPS

    async def make(name: str, size: int, cpu: str) -> None:
        await scheduled_cluster.create(
            groups, {"metadata": {"name": name}, "spec": {"minMember": size, "minResources": {"cpu": cpu}}}
        )
        mark = (
            {"annotations": {"scheduling.k8s.io/group-name": name}}
            if volcano
            else {"labels": {groups.group + "/pod-group": name}}
        )
        scheduler = {"schedulerName": "volcano" if volcano else "scheduler-plugins-scheduler"}
        for index in range(size):
            await scheduled_cluster.pod(f"{name}-{index}", scheduler, requests={"cpu": cpu}, **mark)

    async def phase(name: str, wanted: str) -> None:
        await eventually(
            lambda: scheduled_cluster.get(groups, name), lambda found: found.get("status", {}).get("phase") == wanted
        )

    await make("one", 2, "1")
    assert await scheduled_cluster.bound("one-0", "one-1") == {"one-0": "machine", "one-1": "machine"}
    await phase("one", "Running" if volcano else "Scheduling")
    await make("two", 3, "1")
    await scheduled_cluster.condition("two-0", lambda each: "tasks in gang unschedulable" in each["message"])
    await scheduled_cluster.condition("two-2", lambda each: "Insufficient cpu" in each["message"])
    for index in range(2):
        await scheduled_cluster.client.delete(resources.PODS, NAMESPACE, f"one-{index}")
    await scheduled_cluster.bound("two-0", "two-1", "two-2")


async def test_volcano_groups_are_enqueued_as_resources_become_free(scheduled_cluster: Cluster) -> None:
    await scheduled_cluster.install_crd("volcano.yaml")
    groups = resources.VOLCANO_POD_GROUPS
    for name, cpu in (("fits", "3"), ("waits", "2")):
        await scheduled_cluster.create(
            groups, {"metadata": {"name": name}, "spec": {"minMember": 1, "minResources": {"cpu": cpu}}}
        )
    await eventually(
        lambda: scheduled_cluster.get(groups, "fits"), lambda found: found.get("status", {}).get("phase") == "Inqueue"
    )
    await eventually(
        lambda: scheduled_cluster.get(groups, "waits"), lambda found: found.get("status", {}).get("phase") == "Pending"
    )
    assert (await scheduled_cluster.event("waits", "Unschedulable"))["message"] == "resource in cluster is overused: cpu"
    await scheduled_cluster.client.delete(groups, NAMESPACE, "fits")
    await eventually(lambda: scheduled_cluster.get(groups, "waits"), lambda found: found["status"]["phase"] == "Inqueue")


async def test_the_first_consumer_of_a_claim_selects_its_node(scheduled_cluster: Cluster) -> None:
    mode = {"provisioner": "example.com/p", "volumeBindingMode": "WaitForFirstConsumer"}
    await scheduled_cluster.create(STORAGE_CLASSES, {"metadata": {"name": "late"}, **mode})
    size = {"requests": {"storage": "1Gi"}}
    spec = {"storageClassName": "late", "accessModes": ["ReadWriteOnce"], "resources": size}
    await scheduled_cluster.create(VOLUME_CLAIMS, {"metadata": {"name": "data"}, "spec": spec})
    await scheduled_cluster.pod("p", {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]})
    note = "volume.kubernetes.io/selected-node"
    await eventually(
        lambda: scheduled_cluster.get(VOLUME_CLAIMS, "data"),
        lambda found: found["metadata"].get("annotations", {}).get(note) == "machine",
    )
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "storageClassName": "late",
    }
    await scheduled_cluster.create(VOLUMES, {"metadata": {"name": "v"}, "spec": volume})
    binding = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "v"}}
    await scheduled_cluster.client.patch(VOLUME_CLAIMS, NAMESPACE, "data", json.dumps(binding).encode())
    assert await scheduled_cluster.bound("p") == {"p": "machine"}


async def test_a_restarted_scheduler_continues(bare_cluster: Cluster) -> None:
    await bare_cluster.node(cpu="3")
    async with scheduling(bare_cluster):
        await bare_cluster.pod("a", requests=CPU)
        await bare_cluster.bound("a")
    await bare_cluster.pod("b", requests=CPU)
    await bare_cluster.pod("c", requests={"cpu": "1"})
    async with scheduling(bare_cluster):
        await bare_cluster.bound("c")
        assert "Insufficient cpu" in (await bare_cluster.condition("b"))["message"]


async def test_many_pods_at_once(scheduled_cluster: Cluster) -> None:
    for index in range(300):
        await scheduled_cluster.pod(f"p-{index}")
    await scheduled_cluster.bound(*(f"p-{index}" for index in range(300)))


async def test_overcommitted_resources_are_configurable(bare_cluster: Cluster) -> None:
    await bare_cluster.node()
    async with scheduling(bare_cluster, Profile(overcommitted=frozenset({"cpu"}), suggests_options=True)):
        await bare_cluster.pod("a", requests={"cpu": "64"})
        await bare_cluster.bound("a")
        await bare_cluster.pod("b", requests={"memory": "64Gi"})
        assert "`traincrew up --overcommit memory`" in (await bare_cluster.condition("b"))["message"]


async def test_a_cluster_with_a_scheduler_profile_schedules_its_pods(tmp_path: pathlib.Path) -> None:
    chosen = dataclasses.replace(options(tmp_path), scheduling=single_machine_profile())
    async with daemon.run(chosen) as started:
        bare_cluster = Cluster(started.control_plane.system_client("test"), started.control_plane)
        await bare_cluster.pod("p", requests={"cpu": "1000"})
        assert await bare_cluster.bound("p") == {"p": "traincrew"}
