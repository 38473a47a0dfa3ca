"""Every kind of write of a pod takes the same steps: defaults, admission, strategy, validation."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.embedded.apiserver.endpoints.in_process_api import InProcessApi, in_process_api

CONTAINER = {"name": "main", "image": "train:1"}
POD: dict[str, Any] = {"spec": {"containers": [CONTAINER]}}
APPLIED = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **POD}


@pytest.fixture
async def api(tmp_path: pathlib.Path) -> AsyncIterator[InProcessApi]:
    async with in_process_api(tmp_path) as in_process:
        yield in_process


@pytest.mark.parametrize("way", ["create", "apply"])
async def test_a_created_pod_has_passed_admission_and_its_strategy(api: InProcessApi, way: str) -> None:
    if way == "create":
        pod = (await api.create("pods", "p", POD)).body
    else:
        pod = (await api.patch("apply", "pods/p", APPLIED, fieldManager="m")).body
    assert pod["spec"]["priority"] == 0  # Priority
    assert len(pod["spec"]["tolerations"]) == 2  # DefaultTolerationSeconds
    assert pod["spec"]["serviceAccountName"] == "default"  # ServiceAccount
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}  # the strategy
    assert pod["spec"]["restartPolicy"] == "Always"  # defaults


async def test_fields_that_admission_sets_have_no_field_manager(api: InProcessApi) -> None:
    pod = (await api.patch("apply", "pods/p", APPLIED, fieldManager="m")).body
    (entry,) = pod["metadata"]["managedFields"]
    assert set(entry["fieldsV1"]["f:spec"]) == {"f:containers"}


@pytest.mark.parametrize("type", ["merge", "strategic", "json"])
async def test_an_update_keeps_the_priority_that_admission_set(api: InProcessApi, type: str) -> None:
    await api.create("pods", "p", POD)
    removed = [{"op": "remove", "path": "/spec/priority"}] if type == "json" else {"spec": {"priority": None}}
    response = await api.patch(type, "pods/p", removed)
    assert (response.code, response.body["spec"]["priority"]) == (200, 0)


async def test_binding_status_and_eviction_pass_no_admission_plugin_of_the_pod(api: InProcessApi) -> None:
    created = (await api.create("pods", "p", POD)).body
    await api.send("create", "pods/p/binding", {"target": {"name": "n"}})
    await api.patch("merge", "pods/p/status", {"status": {"phase": "Running"}, "spec": {"priority": 7}})
    stored = (await api.send("get", "pods/p")).body
    assert stored["spec"] == created["spec"] | {"nodeName": "n"}
    assert stored["status"]["phase"] == "Running"


async def test_a_missing_namespace_is_reported_before_a_missing_name(api: InProcessApi) -> None:
    api.namespace = "none"
    response = await api.send("create", "pods", POD)
    assert (response.code, response.message) == (404, 'namespaces "none" not found')


async def test_errors_of_mutating_plugins_name_the_prefix_and_those_of_validation_the_generated_name(api: InProcessApi) -> None:
    generated: dict[str, Any] = {"metadata": {"generateName": "train-"}, "spec": {**POD["spec"], "priorityClassName": "none"}}
    response = await api.send("create", "pods", generated)
    assert response.message == 'pods "train-" is forbidden: no PriorityClass with name none was found'
    response = await api.send("create", "pods", {"metadata": {"generateName": "train-"}, "spec": {"containers": []}})
    assert response.code == 422
    assert response.body["details"]["name"].startswith("train-")
    assert len(response.body["details"]["name"]) == len("train-") + 5


async def test_a_job_with_a_generated_name_is_labelled_with_that_name(api: InProcessApi) -> None:
    template = {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
    job = (await api.send("create", "batch/v1:jobs", {"metadata": {"generateName": "j-"}, "spec": {"template": template}})).body
    assert job["spec"]["template"]["metadata"]["labels"]["job-name"] == job["metadata"]["name"]
