"""PodSecurity is asked in every way in which a pod is written. tests/differential compares the responses with a real server."""

from __future__ import annotations

import json
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.embedded.apiserver.endpoints.in_process_api import ApiResponse, InProcessApi, in_process_api

from traincrew.embedded.bootstrap import BootstrapObjects, bootstrap
from traincrew.embedded.control_plane import ControlPlane, Options
from traincrew.model.resources import PODS

LABEL = "pod-security.kubernetes.io/"
PRIVILEGED = {"name": "debug", "image": "i", "securityContext": {"privileged": True}}
VIOLATION = 'violates PodSecurity "baseline:latest": privileged (container "debug" must not set securityContext.privileged=true)'


def pod(name: str, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    listed = list(containers) or [{"name": "main", "image": "i"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": listed, **spec}}


@pytest.fixture
async def api(tmp_path: pathlib.Path) -> AsyncIterator[InProcessApi]:
    async with in_process_api(tmp_path / "data") as opened:
        opened.namespace = ""
        await opened.create("namespaces", "strict", labels={f"{LABEL}enforce": "baseline"})
        opened.namespace = "strict"
        await opened.send("create", "serviceaccounts", {"metadata": {"name": "default"}})
        yield opened


async def add_privileged(api: InProcessApi, way: str) -> ApiResponse:
    ephemeral = {"ephemeralContainers": [PRIVILEGED]}
    match way:
        case "update":
            stored = (await api.send("get", "pods/plain")).body
            stored["spec"] |= ephemeral
            return await api.send("update", "pods/plain/ephemeralcontainers", stored)
        case "json":
            operation = {"op": "add", "path": "/spec/ephemeralContainers", "value": [PRIVILEGED]}
            return await api.patch("json", "pods/plain/ephemeralcontainers", [operation])
        case "apply":
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain"}, "spec": ephemeral}
            return await api.patch("apply", "pods/plain/ephemeralcontainers", body, fieldManager="m")
    return await api.patch(way, "pods/plain/ephemeralcontainers", {"spec": ephemeral})


@pytest.mark.parametrize("way", ["update", "json", "merge", "strategic", "apply"])
async def test_a_privileged_ephemeral_container_does_not_enter_a_baseline_namespace(api: InProcessApi, way: str) -> None:
    assert (await api.send("create", "pods", pod("plain"))).code == 201
    response = await add_privileged(api, way)
    assert (response.code, response.message) == (403, f'pods "plain" is forbidden: {VIOLATION}')
    assert "ephemeralContainers" not in (await api.send("get", "pods/plain")).body["spec"]


async def test_an_ephemeral_container_that_meets_the_level_is_added(api: InProcessApi) -> None:
    await api.send("create", "pods", pod("plain"))
    body = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "i"}]}}
    assert (await api.patch("strategic", "pods/plain/ephemeralcontainers", body)).code == 200


async def test_new_pods_are_rejected_by_create_generate_name_and_apply(api: InProcessApi) -> None:
    refused = pod("p", PRIVILEGED)
    generated = {**refused, "metadata": {"generateName": "p-"}}
    responses = [
        await api.send("create", "pods", refused),
        await api.send("create", "pods", generated),
        await api.send("create", "pods", refused, dryRun="All"),
        await api.patch("apply", "pods/p", refused, fieldManager="m"),
    ]
    assert [each.code for each in responses] == [403] * 4
    assert all(VIOLATION in each.message for each in responses)


async def test_a_pod_that_violates_a_new_level_may_change_but_for_its_images(api: InProcessApi) -> None:
    api.namespace = "default"
    assert (await api.send("create", "pods", pod("old", PRIVILEGED))).code == 201
    await api.patch("merge", "namespaces/default", {"metadata": {"labels": {f"{LABEL}enforce": "baseline"}}})
    assert (await api.patch("merge", "pods/old", {"metadata": {"labels": {"a": "b"}}})).code == 200
    other = {"spec": {"containers": [{"name": "debug", "image": "other"}]}}
    assert (await api.patch("strategic", "pods/old", other)).code == 403


async def test_templates_cause_warnings_but_not_their_scale(api: InProcessApi) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [PRIVILEGED]}}
    body = {"metadata": {"name": "t"}, "spec": {"selector": {"a": "b"}, "replicas": 0, "template": template}}
    created = await api.send("create", "replicationcontrollers", body)
    violations = [each for each in created.warnings if VIOLATION.removeprefix("violates ") in each]
    assert (created.code, len(violations)) == (201, 1)
    scaled = await api.patch("merge", "replicationcontrollers/t/scale", {"spec": {"replicas": 1}})
    assert (scaled.code, scaled.warnings) == (200, ())


async def test_violations_of_the_audit_level_are_in_the_audit_log(tmp_path: pathlib.Path) -> None:
    path, nothing = tmp_path / "audit.log", BootstrapObjects((), (), ())
    daemon = ControlPlane(Options(tmp_path / "data", "127.0.0.1", 0, nothing, tmp_path / "log", "0", audit_log=str(path)))
    try:
        await bootstrap(daemon.system_client("bootstrap"), nothing)
        api = InProcessApi(daemon)
        await api.patch("merge", "namespaces/default", {"metadata": {"labels": {f"{LABEL}audit": "baseline"}}})
        await daemon.system_client("test").create(PODS, "default", json.dumps(pod("p", PRIVILEGED)).encode())
    finally:
        await daemon.close()
    last = json.loads(path.read_text().splitlines()[-1])
    assert last["annotations"] == {
        f"{LABEL}enforce-policy": "privileged:latest",
        f"{LABEL}audit-violations": f"would {VIOLATION.replace('violates', 'violate')}",
    }
