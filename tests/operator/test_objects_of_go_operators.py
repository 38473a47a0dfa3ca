"""Objects that a Go operator created for a job belong to the job: they are used, and not created again and again."""

from __future__ import annotations

import asyncio
import pathlib
from typing import Any

import msgspec
import pytest
from tests.cluster.manifests import job
from tests.operator.operator_cluster import NAMESPACE, Cluster, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew.kinds import KINDS
from traincrew.model import naming
from traincrew.model.resources import CONFIG_MAPS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, Resource

MPI = next(kind.resource for kind in KINDS if kind.kind == "MPIJob")
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
BINDING = {
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "j-launcher"},
    "subjects": [{"kind": "ServiceAccount", "name": "j-launcher", "namespace": NAMESPACE}],
}


async def submit(running: Cluster) -> dict[str, Any]:
    """Creates the job and returns the owner reference to it that the Go operator writes."""
    raw = await running.client.create(MPI, NAMESPACE, msgspec.json.encode(job("MPIJob", Launcher=1, Worker=1)))
    uid = msgspec.json.decode(raw)["metadata"]["uid"]
    reference = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "name": "j", "uid": uid}
    return {**reference, "controller": True, "blockOwnerDeletion": True}


async def create(running: Cluster, resource: Resource, name: str, owner: dict[str, Any], **body: Any) -> None:
    """With the one label that the Go operator sets."""
    meta = {"name": name, "labels": {"app": "j"}, "ownerReferences": [owner]}
    found = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, **body}
    await running.client.create(resource, NAMESPACE, msgspec.json.encode(found))


@pytest.mark.parametrize(
    ("resource", "name", "body"),
    [
        pytest.param(SERVICE_ACCOUNTS, "j-launcher", {}, id="service account"),
        pytest.param(CONFIG_MAPS, "j-config", {"data": {}}, id="config map"),
        pytest.param(ROLES, "j-launcher", {"rules": RULES}, id="role"),
        pytest.param(ROLE_BINDINGS, "j-launcher", BINDING, id="role binding"),
    ],
)
@in_virtual_time
async def test_an_object_of_the_job_without_our_labels_is_labelled_and_created_no_more(
    tmp_path: pathlib.Path, resource: Resource, name: str, body: dict[str, Any]
) -> None:
    async with cluster(tmp_path) as on:
        await create(on, resource, name, await submit(on), **body)
        async with on.operator() as client:
            await asyncio.sleep(600)
            found = msgspec.json.decode(await on.client.get(resource, NAMESPACE, name))
            creates = [call for call in client.calls if (call.verb, call.plural) == ("create", resource.plural)]
            pods = await on.pods()
    assert found["metadata"]["labels"][naming.JOB_NAME] == "j"
    assert len(creates) == 1
    assert pods == ["j-launcher", "j-worker-0"]


@in_virtual_time
async def test_a_service_account_of_the_user_is_used_and_not_changed(tmp_path: pathlib.Path) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "j-launcher", "labels": {"mine": "yes"}}}
    async with cluster(tmp_path) as on:
        await on.client.create(SERVICE_ACCOUNTS, NAMESPACE, msgspec.json.encode(account))
        await submit(on)
        async with on.operator() as client:
            await asyncio.sleep(600)
            found = msgspec.json.decode(await on.client.get(SERVICE_ACCOUNTS, NAMESPACE, "j-launcher"))
            creates = [call for call in client.calls if (call.verb, call.plural) == ("create", "serviceaccounts")]
    assert found["metadata"]["labels"] == {"mine": "yes"}
    assert len(creates) == 1
