"""No object that the API server accepts may end a controller: each of them learns of objects with odd fields."""

from __future__ import annotations

import contextlib
import logging
import pathlib

import pytest
from tests.embedded.controllers import odd_objects
from tests.embedded.controllers.in_process_cluster import NAMESPACE, Cluster, Object, cluster, eventually, running_controllers

from traincrew import errors
from traincrew.embedded.controllers.disruption.controller import BUDGETS
from traincrew.embedded.controllers.endpoints import slices
from traincrew.embedded.controllers.endpoints.controller import ENDPOINTS, SLICES
from traincrew.model.resources import (
    AUTOSCALERS,
    BATCH_JOBS,
    NODES,
    PODS,
    RESOURCE_QUOTAS,
    SERVICES,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
    Resource,
)

POD: Object = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
CLAIM: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME: Object = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}
REFERENCE: Object = {"namespace": NAMESPACE, "name": "c", "uid": "u"}
METRIC: Object = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 1}}}
ADDRESS: Object = {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1}]}
TAINT: Object = {"key": "a", "value": "b", "effect": "NoExecute", "timeAdded": "2030-01-01T00:00:00Z"}
LOST: Object = {"type": "Ready", "status": "Unknown", "lastHeartbeatTime": "2030-01-01T00:00:00Z"}
BASES: list[tuple[Resource, Object]] = [
    (PODS, {"spec": POD}),
    (BATCH_JOBS, {"spec": {"template": {"spec": POD}}}),
    (SERVICES, {"spec": {"ports": [{"port": 1}]}}),
    (SERVICES, {"spec": {"selector": {"a": "b"}, "ports": [{"port": 1}], "type": "NodePort"}}),
    (ENDPOINTS, {"subsets": [ADDRESS]}),
    (SLICES, {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]}),
    (AUTOSCALERS, {"spec": {"scaleTargetRef": {"kind": "Job", "name": "x"}, "maxReplicas": 1}}),
    (AUTOSCALERS, {"spec": {"scaleTargetRef": {"kind": "Job", "name": "x"}, "maxReplicas": 1, "metrics": [METRIC]}}),
    (BUDGETS, {"spec": {"selector": {"matchLabels": {"a": "b"}}}}),
    (VOLUME_CLAIMS, {"spec": CLAIM}),
    (VOLUMES, {"spec": VOLUME}),
    (VOLUMES, {"spec": {**VOLUME, "claimRef": REFERENCE}}),
    (STORAGE_CLASSES, {"provisioner": "p"}),
    (NODES, {}),
    (NODES, {"spec": {"taints": [TAINT], "unschedulable": True}, "status": {"conditions": [LOST]}}),
    (RESOURCE_QUOTAS, {}),
]
METADATA: Object = {"generateName": "x-", "labels": {"a": "b", slices.SERVICE: "s", slices.MANAGED: slices.MANAGER}}


def _faults(records: list[logging.LogRecord]) -> list[str]:
    """The exceptions that are no responses of the API server."""
    raised = [(each, each.exc_info[1]) for each in records if each.exc_info and each.exc_info[1] is not None]
    return [f"{each.getMessage()}: {error!r}" for each, error in raised if not isinstance(error, errors.ApiError)]


async def _create_and_delete(running: Cluster, resource: Resource, body: Object) -> bool:
    """Whether the API server accepts the object."""
    try:
        name = (await running.create(resource, {**body, "metadata": METADATA}))["metadata"]["name"]
    except errors.ApiError:
        return False
    with contextlib.suppress(errors.NotFound):  # Endpoints without a Service are deleted by their controller
        await running.client.delete(resource, NAMESPACE if resource.namespaced else None, name)
    return True


@pytest.mark.parametrize(("resource", "base"), BASES, ids=[f"{each.kind}-{i}" for i, (each, _) in enumerate(BASES)])
async def test_controllers_go_on_after_odd_objects(
    resource: Resource, base: Object, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster(tmp_path / "data") as running, running_controllers(running):
        assert await _create_and_delete(running, resource, base)
        for title, body in odd_objects.variants(resource, base):
            await _create_and_delete(running, resource, body)
            assert not _faults(caplog.records), title
        await running.create(VOLUMES, {"metadata": {"name": "v"}, "spec": {**VOLUME, "storageClassName": "own"}})
        await running.create(VOLUME_CLAIMS, {"metadata": {"name": "c"}, "spec": {**CLAIM, "storageClassName": "own"}})
        await eventually(lambda: running.get(VOLUME_CLAIMS, "c"), lambda each: each["status"]["phase"] == "Bound")
        assert not _faults(caplog.records)
