"""Field managers across versions, and their maximum number, compared with the real API server."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from tests.apimachinery.patches import random_writes
from tests.apimachinery.patches.random_writes import APPLY, MERGE, RandomWrite
from tests.cluster.api import Api, Object, RejectedRequest

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.patches import apply, field_managers, merge_patch
from traincrew.apimachinery.resource_info import Schema
from traincrew.embedded.apiserver.schema import builtin_kinds

CRD = pathlib.Path(__file__).parents[2] / "manifests" / "crds" / "mpijobs.kubeflow.org.yaml"
STATUS = frozenset({("status",)})
TEMPLATE: Object = {"spec": {"containers": [{"name": "mpi", "image": "i"}]}}
LAUNCHER: Object = {"Launcher": {"replicas": 1, "template": TEMPLATE}}
WORKER: Object = {"Worker": {"replicas": 2, "template": TEMPLATE}}


def test_more_updaters_than_are_kept_become_ancient_changes(api: Api, namespace: str) -> None:
    schema = builtin_kinds.load().schema("", "v1", "ConfigMap")
    place = api.path("configmaps", namespace)
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "x"}}
    live = api.call("PATCH", f"{place}/x", applied, APPLY, fieldManager="applier")
    for number in range(14):
        step = RandomWrite(MERGE, {"data": {f"k{number % 12}": str(number)}}, f"m{number}")
        after = api.call("PATCH", f"{place}/x", step.body, MERGE, fieldManager=step.manager)
        theirs = after["metadata"].pop("managedFields")
        found = random_writes.owners(live, after, step, schema, max(entry["time"] for entry in theirs))
        assert found == theirs, step
        live = after | {"metadata": after["metadata"] | {"managedFields": theirs}}
    assert "ancient-changes" in [entry["manager"] for entry in live["metadata"]["managedFields"]]


def test_a_scale_is_owned_by_its_writer_at_no_time(api: Api, namespace: str) -> None:
    schema = builtin_kinds.load().schema("apps", "v1", "Deployment")
    place = f"/apis/apps/v1/namespaces/{namespace}/deployments/x"
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}} | TEMPLATE}
    applied = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}
    live = api.call("PATCH", place, applied, APPLY, fieldManager="applier")
    for replicas in (3, 4):
        api.call("PATCH", f"{place}/scale", {"spec": {"replicas": replicas}}, MERGE, fieldManager="scaler")
        scaled = merge_patch.apply(live, {"spec": {"replicas": replicas}})
        found = random_writes.owners(live, scaled, RandomWrite(MERGE, {}, "scaler", subresource="scale"), schema, "")
        live = api.call("GET", place)
        assert found == live["metadata"]["managedFields"]


@pytest.fixture(scope="module")
def versions() -> dict[str, Schema]:
    spec = yaml.safe_load(CRD.read_text())["spec"]
    return {f"kubeflow.org/{each['name']}": each["schema"]["openAPIV3Schema"] for each in spec["versions"]}


def job(version: str, spec: Object) -> Object:
    return {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": {"name": "j"}, "spec": spec}


SEQUENCE: tuple[tuple[str, str, RandomWrite], ...] = tuple(
    (version, expected_error, RandomWrite(content, job(version, body) if content == APPLY else {"spec": body}, manager, force))
    for version, content, manager, body, force, expected_error in (
        ("v1", APPLY, "m1", {"mpiReplicaSpecs": LAUNCHER | WORKER, "slotsPerWorker": 1}, False, ""),
        ("v2beta1", APPLY, "m2", {"mpiReplicaSpecs": LAUNCHER, "slotsPerWorker": 1}, False, ""),
        ("v2beta1", MERGE, "m3", {"slotsPerWorker": 2}, False, ""),
        ("v1", MERGE, "m3", {"slotsPerWorker": 3}, False, ""),
        ("v1", APPLY, "m2", {"mpiReplicaSpecs": LAUNCHER | WORKER, "slotsPerWorker": 1}, False, "conflict"),
        ("v1", APPLY, "m2", {"mpiReplicaSpecs": LAUNCHER | WORKER, "slotsPerWorker": 1}, True, ""),
        ("v2beta1", APPLY, "m1", {"mpiReplicaSpecs": WORKER}, True, ""),
        ("v2beta1", MERGE, "m4", {"mpiReplicaSpecs": {"Worker": {"replicas": 4}}}, False, ""),
        ("v1", APPLY, "m1", {"slotsPerWorker": 1}, True, ""),
    )
)


def test_owners_are_the_same_whichever_version_they_write(api: Api, namespace: str, versions: dict[str, Schema]) -> None:
    for version, expected_error, step in SEQUENCE:
        place = api.path("mpijobs", namespace, "j", version=version)
        query = {"fieldManager": step.manager} | ({"force": "true"} if step.force else {})
        live, by = seen(api, place), (f"kubeflow.org/{version}", versions)
        if expected_error:
            with pytest.raises(RejectedRequest, match=expected_error) as refused:
                api.call("PATCH", place, step.body, step.content, **query)
            with pytest.raises(StatusError, match=expected_error) as rejection:
                ours(live, step, "", by)
            assert rejection.value.status() == refused.value.status
            continue
        after = api.call("PATCH", place, step.body, step.content, **query)
        theirs = after["metadata"].pop("managedFields")
        now = max(entry.get("time", "") for entry in theirs)
        found = ours(live, step, now, by, after)
        assert found["metadata"]["managedFields"] == theirs, step
        assert found["spec"].items() <= after["spec"].items(), step


def seen(api: Api, place: str) -> Object | None:
    try:
        return api.call("GET", place)
    except RejectedRequest:
        return None


def ours(
    live: Object | None, step: RandomWrite, now: str, by: tuple[str, dict[str, Schema]], after: Object | None = None
) -> Object:
    version, versions = by
    if step.content == APPLY:
        return apply.apply(
            live, step.body, versions[version], manager=step.manager, force=step.force, now=now, reset=STATUS, versions=versions
        )
    assert live is not None
    assert after is not None
    written = dict(after)
    field_managers.update_managed_fields(
        live, written, versions[version], manager=step.manager, now=now, reset=STATUS, versions=versions
    )
    assert merge_patch.apply(live, step.body)["spec"].items() <= after["spec"].items()
    return written
