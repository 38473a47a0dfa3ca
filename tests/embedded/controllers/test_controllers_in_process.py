"""The controllers on the embedded API server."""

from __future__ import annotations

import os
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.embedded.controllers.in_process_cluster import NAMESPACE, Cluster, Object, cluster, eventually, running_controllers

from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.controllers.claims import provisioner
from traincrew.embedded.controllers.endpoints.controller import ENDPOINTS, SLICES
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.model.resources import (
    AUTOSCALERS,
    BATCH_JOBS,
    PODS,
    SERVICES,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
    Resource,
)
from traincrew.serving import background_tasks

CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
PYTORCH = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")


@pytest.fixture
async def running(tmp_path: pathlib.Path) -> AsyncIterator[Cluster]:
    async with cluster(tmp_path / "data") as started:
        yield started


def job(**spec: Any) -> Object:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": "j"}, "spec": {"template": template, **spec}}


async def active(running: Cluster, count: int) -> list[str]:
    async def names() -> list[str]:
        pods = [each for each in await running.list(PODS) if each["metadata"].get("generateName", "").startswith("j-")]
        return [each["metadata"]["name"] for each in pods if each["status"]["phase"] == "Pending"]

    return await eventually(names, lambda names: len(names) == count)


async def ended(running: Cluster, word: str) -> Object:
    async def read() -> Object:
        status: Object = (await running.get(BATCH_JOBS, "j")).get("status", {})
        return status

    return await eventually(read, lambda status: word in {each["type"] for each in status.get("conditions", ())})


async def test_a_job_runs_to_its_end(running: Cluster) -> None:
    async with running_controllers(running):
        await running.create(BATCH_JOBS, job(completions=3, parallelism=2))
        for name in await active(running, 2):
            await running.set_phase(name, "Succeeded")
        [last] = await active(running, 1)
        await running.set_phase(last, "Succeeded")
        status = await ended(running, "Complete")
        assert (status["succeeded"], [each["type"] for each in status["conditions"]]) == (3, ["SuccessCriteriaMet", "Complete"])
        await eventually(lambda: running.event_reasons("j"), lambda message: message == {"SuccessfulCreate", "Completed"})


async def test_restarted_controllers_count_pods_that_ended_meanwhile_once(running: Cluster) -> None:
    async with running_controllers(running):
        await running.create(BATCH_JOBS, job(completions=4, parallelism=4, backoffLimit=0))
        names = await active(running, 4)
        await running.set_phase(names[0], "Succeeded")
        await eventually(lambda: running.get(BATCH_JOBS, "j"), lambda each: each.get("status", {}).get("succeeded") == 1)
    for name in names[1:]:
        await running.set_phase(name, "Succeeded")
    async with running_controllers(running):
        status = await ended(running, "Complete")
    assert status["succeeded"] == 4
    assert "failed" not in status


async def test_a_job_that_is_deleted_while_no_controller_runs_does_not_keep_its_pods(running: Cluster) -> None:
    async with running_controllers(running):
        await running.create(BATCH_JOBS, job())
        await active(running, 1)
    await running.client.delete(BATCH_JOBS, NAMESPACE, "j", propagation="Background")
    async with running_controllers(running):
        await eventually(lambda: running.list(PODS), lambda pods: not pods)


async def test_a_claim_without_a_class_gets_a_directory_that_is_deleted_with_it(running: Cluster) -> None:
    async with running_controllers(running):
        await eventually(lambda: running.list(STORAGE_CLASSES))
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        await running.create(VOLUME_CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
        claim = await eventually(lambda: running.get(VOLUME_CLAIMS, "c"), lambda each: each["status"]["phase"] == "Bound")
        volume = await running.get(VOLUMES, claim["spec"]["volumeName"])
        directory = pathlib.Path(volume["spec"]["hostPath"]["path"])
        assert directory.parent == running.volumes
        (directory / "checkpoint").write_text("x")
        await eventually(lambda: running.event_reasons("c"), lambda message: "ProvisioningSucceeded" in message)
        await running.client.delete(VOLUME_CLAIMS, NAMESPACE, "c")
        await eventually(lambda: running.is_gone(VOLUMES, volume["metadata"]["name"]))
        assert directory.name not in os.listdir(running.volumes)


async def test_a_claim_created_while_no_controller_runs_is_bound_later(running: Cluster) -> None:
    spec = {"accessModes": ["ReadWriteMany"], "storageClassName": "standard", "resources": {"requests": {"storage": "10Gi"}}}
    await running.create(VOLUME_CLAIMS, {"metadata": {"name": "c"}, "spec": {**spec, "volumeName": "v"}})
    spec = {"accessModes": ["ReadWriteMany"], "storageClassName": "standard", "capacity": {"storage": "10Gi"}}
    await running.create(VOLUMES, {"metadata": {"name": "v"}, "spec": {**spec, "hostPath": {"path": "/nowhere"}}})
    async with running_controllers(running):
        await eventually(lambda: running.get(VOLUME_CLAIMS, "c"), lambda each: each["status"]["phase"] == "Bound")
        await eventually(lambda: running.get(VOLUMES, "v"), lambda each: each["status"]["phase"] == "Bound")


async def test_a_volume_that_was_deleted_while_it_was_bound_is_gone_when_its_claim_is(running: Cluster) -> None:
    shared = {"accessModes": ["ReadWriteOnce"], "storageClassName": "standard"}
    async with running_controllers(running):
        volume = {**shared, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/nowhere"}}
        await running.create(VOLUMES, {"metadata": {"name": "v"}, "spec": volume})
        claim = {**shared, "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v"}
        await running.create(VOLUME_CLAIMS, {"metadata": {"name": "c"}, "spec": claim})
        await eventually(lambda: running.get(VOLUME_CLAIMS, "c"), lambda each: each["status"]["phase"] == "Bound")
        await running.client.delete(VOLUMES, None, "v")
        assert (await running.get(VOLUMES, "v"))["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
        await running.client.delete(VOLUME_CLAIMS, NAMESPACE, "c")
        await eventually(lambda: running.is_gone(VOLUMES, "v"))


async def test_a_services_endpoints_follow_its_pods_and_are_deleted_with_it(running: Cluster) -> None:
    async def addresses() -> list[str]:
        subsets = [each for item in await running.list(ENDPOINTS) for each in item.get("subsets") or ()]
        return [address["ip"] for each in subsets for address in each.get("addresses", ())]

    async with running_controllers(running):
        await running.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"selector": {"a": "x"}, "ports": [{"port": 1}]}})
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
        await running.create(PODS, {"metadata": {"name": "p", "labels": {"a": "x"}}, "spec": spec})
        ready = {"phase": "Running", "podIP": "10.1.1.1", "conditions": [{"type": "Ready", "status": "True"}]}
        await running.patch(PODS, "p", {"status": ready}, "status")
        await eventually(addresses, lambda ips: ips == ["10.1.1.1"])
        await running.set_phase("p", "Failed")
        await eventually(addresses, lambda ips: ips == [])
        await running.client.delete(SERVICES, NAMESPACE, "s")
        await eventually(lambda: running.list(ENDPOINTS), lambda left: not left)
        await eventually(lambda: running.list(SLICES), lambda left: not left)


async def test_endpoints_of_a_service_that_was_deleted_while_no_controller_ran_are_deleted(running: Cluster) -> None:
    async with running_controllers(running):
        await running.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"selector": {"a": "x"}, "ports": [{"port": 1}]}})
        await eventually(lambda: running.list(ENDPOINTS))
    await running.client.delete(SERVICES, NAMESPACE, "s")
    async with running_controllers(running):
        await eventually(lambda: running.list(ENDPOINTS), lambda left: not left)


async def test_an_autoscaler_acts_on_a_training_job(running: Cluster) -> None:
    replica = {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}}}
    spec = {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}, "pytorchReplicaSpecs": {"Worker": replica}}
    await running.create(PYTORCH, {"metadata": {"name": "t"}, "spec": spec})
    reference = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "t"}
    bounds = {"scaleTargetRef": reference, "minReplicas": 3, "maxReplicas": 4}
    async with running_controllers(running):
        await running.create(AUTOSCALERS, {"metadata": {"name": "h"}, "spec": bounds})
        await eventually(lambda: running.event_reasons("h"), lambda message: "SuccessfulRescale" in message)
    job = await running.get(PYTORCH, "t")
    assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 3


async def test_the_storage_class_is_created_once_the_api_server_allows_it(running: Cluster) -> None:
    client = running.control_plane.client(users.User("provisioner", (users.AUTHENTICATED,)), "provisioner")
    informers = SharedInformers(client)
    root = running.volumes
    local = provisioner.LocalProvisioner(client, informers, root, provisioner.remove_in_thread)
    async with background_tasks.running(informers.run(), local.run()):
        rights = {"rules": [{"apiGroups": ["", "storage.k8s.io"], "resources": ["*"], "verbs": ["*"]}]}
        await running.create(CLUSTER_ROLES, {"metadata": {"name": "provisioner"}, **rights})
        reference = {"apiGroup": CLUSTER_ROLES.group, "kind": "ClusterRole", "name": "provisioner"}
        subject = {"apiGroup": CLUSTER_ROLES.group, "kind": "User", "name": "provisioner"}
        assert await running.list(STORAGE_CLASSES) == []
        await running.create(BINDINGS, {"metadata": {"name": "provisioner"}, "roleRef": reference, "subjects": [subject]})
        await eventually(lambda: running.list(STORAGE_CLASSES))
