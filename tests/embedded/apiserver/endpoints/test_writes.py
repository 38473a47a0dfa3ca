from __future__ import annotations

import asyncio
import json
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.embedded.apiserver.endpoints.in_process_api import InProcessApi, in_process_api

from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.apiserver.requests.scope import decoded
from traincrew.model.resources import Resource

POD = {"spec": {"containers": [{"name": "main", "image": "train:1"}]}}
JOB = {"spec": {"template": {"spec": {**POD["spec"], "restartPolicy": "Never"}}}}
LEASE = "coordination.k8s.io/v1:leases"
THINGS = Resource("example.com", "v1", "things", "Thing")


@pytest.fixture
async def api(tmp_path: pathlib.Path) -> AsyncIterator[InProcessApi]:
    async with in_process_api(tmp_path) as in_process:
        yield in_process


def events(api: InProcessApi, resource: str, after: str) -> list[tuple[str, dict[str, Any]]]:
    changes = api.control_plane.store.change_logs.of(resource).since(int(after))
    return [(each.type, decoded(each.record)["metadata"]) for each in changes]


@pytest.mark.parametrize(
    ("how", "patch", "why"),
    [
        ("merge", {"data": {"a": 5}}, "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        ("strategic", {"data": "text"}, "cannot restore map from string"),
        ("strategic", {"data": {"a": 5}}, "cannot convert int64 to string"),
        ("merge", {"z": 1, "a": 2}, 'strict decoding error: unknown field "a", unknown field "z"'),
        ("merge", '{"data":{"k":"1","k":"2"}}', 'strict decoding error: duplicate field "data.k"'),
        (
            "json",
            [{"op": "add", "path": "/data", "value": {}, "why": 1}],
            'strict decoding error: json patch unknown field "[0].why"',
        ),
    ],
)
async def test_a_patch_that_leads_to_an_invalid_object_is_reported_as_an_invalid_patch(
    api: InProcessApi, how: str, patch: Any, why: str
) -> None:
    await api.create("configmaps", "a", {"data": {"b": "c"}})
    response = await api.patch(how, "configmaps/a", patch, fieldValidation="Strict")
    assert (response.code, response.body["details"]["causes"][0]["field"]) == (422, "patch")
    assert response.message.endswith(f": {why}")


async def test_a_patch_of_a_missing_object_is_not_decoded(api: InProcessApi) -> None:
    assert (await api.patch("merge", "configmaps/none", "{")).code == 404


async def test_an_update_creates_objects_of_some_kinds_only(api: InProcessApi) -> None:
    body = {"metadata": {"name": "a", "resourceVersion": "4"}}
    assert (await api.send("update", f"{LEASE}/a", body)).code == 201
    assert (await api.send("update", "configmaps/a", body)).code == 404


async def test_apply_and_update_of_a_missing_object_need_the_create_permission(api: InProcessApi) -> None:
    rules = [{"apiGroups": ["", "coordination.k8s.io"], "resources": ["*"], "verbs": ["get", "patch", "update"]}]
    await api.send("create", "rbac.authorization.k8s.io/v1:roles", {"metadata": {"name": "r"}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "sa", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    await api.create("rbac.authorization.k8s.io/v1:rolebindings", "b", {"subjects": [subject], "roleRef": role})
    api.user = users.service_account("default", "sa")
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    for response in (
        await api.patch("apply", "configmaps/a", applied, fieldManager="m"),
        await api.send("update", f"{LEASE}/a", {"metadata": {"name": "a"}}),
    ):
        assert response.code == 403
        assert "cannot create resource" in response.message


@pytest.mark.parametrize(("version", "code"), [("", 200), ("0", 200), ("1", 409), ("x", 400)])
async def test_a_named_resource_version_is_a_precondition(api: InProcessApi, version: str, code: int) -> None:
    await api.create("configmaps", "a")
    body = {"metadata": {"name": "a", "resourceVersion": version}, "data": {"k": "v"}}
    assert (await api.send("update", "configmaps/a", body)).code == code


async def test_some_kinds_need_a_resource_version_for_an_update(api: InProcessApi) -> None:
    await api.send("create", LEASE, {"metadata": {"name": "a"}})
    response = await api.send("update", f"{LEASE}/a", {"metadata": {"name": "a"}})
    assert response.message.endswith("metadata.resourceVersion: Invalid value: 0x0: must be specified for an update")


async def test_removal_of_the_last_finalizer_is_one_watch_event(api: InProcessApi) -> None:
    await api.create("configmaps", "a", finalizers=["example.com/hold"])
    version = (await api.send("delete", "configmaps/a")).body["metadata"]["resourceVersion"]
    response = await api.patch("merge", "configmaps/a", {"metadata": {"finalizers": None}})
    assert response.code == 200
    assert "finalizers" not in response.body["metadata"]
    assert [(kind, meta["finalizers"]) for kind, meta in events(api, "configmaps", version)] == [
        ("DELETED", ["example.com/hold"])
    ]


async def test_a_pod_deleted_without_grace_gets_its_deletion_timestamp_before_its_removal(api: InProcessApi) -> None:
    version = (await api.create("pods", "p", POD)).body["metadata"]["resourceVersion"]
    response = await api.send("delete", "pods/p")
    assert response.body["metadata"]["deletionGracePeriodSeconds"] == 0
    seen = events(api, "pods", version)
    assert [kind for kind, _ in seen] == ["MODIFIED", "DELETED"]
    assert all("deletionTimestamp" in meta for _, meta in seen)


async def test_an_object_cannot_be_created_while_its_predecessor_is_being_deleted(api: InProcessApi) -> None:
    await api.create("configmaps", "a", finalizers=["example.com/hold"])
    await api.send("delete", "configmaps/a")
    assert (await api.create("configmaps", "a")).message == 'object is being deleted: configmaps "a" already exists'


async def test_delete_options_in_the_body_override_the_query(api: InProcessApi) -> None:
    await api.create("configmaps", "a")
    assert (await api.send("delete", "configmaps/a", dryRun="All")).code == 200
    options = {"kind": "DeleteOptions", "apiVersion": "v1"}
    assert (await api.send("delete", "configmaps/a", options, dryRun="All")).code == 200
    assert (await api.send("get", "configmaps/a")).code == 404


async def test_jobs_orphan_their_pods_by_default(api: InProcessApi) -> None:
    for name, options, finalizers in (("a", None, ["orphan"]), ("b", {"propagationPolicy": "Background"}, None)):
        await api.create("batch/v1:jobs", name, JOB)
        response = await api.send("delete", f"batch/v1:jobs/{name}", options)
        assert response.body.get("metadata", {}).get("finalizers") == finalizers
        assert bool(response.warnings) == (options is None)


async def test_an_apply_rejects_fields_that_the_schema_does_not_know(api: InProcessApi) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "colour": "red"}
    response = await api.patch("apply", "configmaps/a", body, fieldManager="m", fieldValidation="Ignore")
    assert (response.code, response.message) == (
        400,
        "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .colour: field not declared in schema",
    )


async def test_a_pod_with_scheduling_gates_cannot_be_bound(api: InProcessApi) -> None:
    gated = {"spec": {**POD["spec"], "schedulingGates": [{"name": "example.com/wait"}]}}
    await api.create("pods", "p", gated)
    response = await api.send("create", "pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}})
    assert response.message.endswith("pod p has non-empty .spec.schedulingGates")


async def test_concurrent_deletes_of_a_pod_do_not_conflict(api: InProcessApi) -> None:
    for number in range(5):
        await api.create("pods", f"p{number}", POD)
        response = await asyncio.gather(*(api.send("delete", f"pods/p{number}") for _ in range(8)))
        assert {each.code for each in response} <= {200, 404}
        assert 200 in {each.code for each in response}
        assert (await api.send("get", f"pods/p{number}")).code == 404


@pytest.mark.parametrize("value", [True, 1.5, 1])
async def test_numbers_and_booleans_are_different_values(api: InProcessApi, value: Any) -> None:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    await api.create("apiextensions.k8s.io/v1:customresourcedefinitions", "things.example.com", {"spec": spec})
    titled = {"apiVersion": "example.com/v1", "kind": "Thing", "free": 1}
    created = await api.create("example.com/v1:things", "a", titled)
    response = await api.patch("merge", "example.com/v1:things/a", {"free": value})
    assert (response.code, repr(response.body["free"])) == (200, repr(value))
    same = response.body["metadata"]["resourceVersion"] == created.body["metadata"]["resourceVersion"]
    assert same == (repr(value) == "1")


async def test_fields_that_become_selectable_select_existing_objects(api: InProcessApi) -> None:
    async def selected(**selectors: str) -> list[str]:
        pages = api.control_plane.system_client("test").pages(THINGS, "default", **selectors)
        return [json.loads(item)["metadata"]["name"] async for page in pages for item in page.items]

    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    colour = {"type": "object", "properties": {"colour": {"type": "string"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": colour}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = "apiextensions.k8s.io/v1:customresourcedefinitions"
    await api.create(definition, "things.example.com", {"spec": spec})
    for name, value in (("a", "red"), ("b", "blue")):
        await api.create("example.com/v1:things", name, {"apiVersion": "example.com/v1", "kind": "Thing", "colour": value})
    assert await selected(labels="!none") == ["a", "b"]  # computes the selectable fields of both
    version["selectableFields"] = [{"jsonPath": ".colour"}]

    await api.patch("merge", f"{definition}/things.example.com", {"spec": {"versions": [version]}})

    assert await selected(fields="colour=red") == ["a"]


async def test_a_write_that_changes_only_times_of_managed_fields_is_not_stored(api: InProcessApi) -> None:
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}}
    created = (await api.patch("apply", "configmaps/a", applied, fieldManager="m")).body
    (entry,) = created["metadata"]["managedFields"]

    times = {"metadata": {"managedFields": [{**entry, "time": "2020-01-01T00:00:00Z"}]}}
    response = await api.patch("merge", "configmaps/a", times)

    assert response.body == created


async def test_duplicate_owner_references_are_removed_with_a_warning(api: InProcessApi) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u", "controller": True}
    response = await api.create("configmaps", "a", ownerReferences=[owner, owner])
    assert (response.code, response.body["metadata"]["ownerReferences"]) == (201, [owner])
    assert response.warnings[0].endswith("please fix your requests; duplicate UID(s) observed: u")
    again = await api.patch("merge", "configmaps/a", {"metadata": {"ownerReferences": [owner, owner]}})
    assert again.body["metadata"] == response.body["metadata"]
    assert "after mutating admission happens" in again.warnings[0]
