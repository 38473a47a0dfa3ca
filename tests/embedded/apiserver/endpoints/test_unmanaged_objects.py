"""An object that no controller acts on: its creator gets a warning, and the object gets one event."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.embedded.apiserver.endpoints.in_process_api import InProcessApi, in_process_api
from tests.embedded.resilience import object_generator

from traincrew.embedded.apiserver.registry import unmanaged_kinds
from traincrew.embedded.apiserver.requests.scope import decoded


@pytest.fixture
async def api(tmp_path: pathlib.Path) -> AsyncIterator[InProcessApi]:
    async with in_process_api(tmp_path) as in_process:
        yield in_process


def valid(kind: str, name: str = "a") -> dict[str, Any]:
    (found,) = [
        each for (_, each_kind), objects in object_generator.valid_objects().items() if each_kind == kind for each in objects[:1]
    ]
    return {**found, "metadata": {"name": name}}


def path(api: InProcessApi, body: dict[str, Any]) -> str:
    plural = next(each.plural for each in api.control_plane.registry if each.kind == body["kind"])
    return f"{body['apiVersion']}:{plural}"


def events(api: InProcessApi) -> list[dict[str, Any]]:
    return [decoded(record) for record in api.control_plane.store.list("events")]


@pytest.mark.parametrize("kind", [kind for _, kind in unmanaged_kinds.EFFECTS])
async def test_a_create_is_answered_with_a_warning_and_records_one_event(api: InProcessApi, kind: str) -> None:
    body = valid(kind)
    created = await api.send("create", path(api, body), body)
    text = f"no controller of this cluster acts on objects of kind {kind}: "
    assert created.code == 201, created.message
    assert [warning for warning in created.warnings if warning.startswith(text)] == [created.warnings[-1]]
    (event,) = events(api)
    assert (event["type"], event["reason"]) == ("Warning", "NoController")
    assert event["message"].startswith(f"N{text[1:]}")
    assert event["involvedObject"]["uid"] == created.body["metadata"]["uid"]
    assert event["involvedObject"]["kind"] == kind


async def test_updates_and_other_kinds_have_no_warning(api: InProcessApi) -> None:
    body = valid("Deployment")
    await api.send("create", path(api, body), body)
    changed = await api.patch("merge", f"{path(api, body)}/a", {"spec": {"replicas": 2}})
    assert (changed.code, changed.warnings) == (200, ())
    created = await api.create("configmaps", "a")
    assert (created.code, created.warnings) == (201, ())
    assert len(events(api)) == 1


async def test_a_dry_run_has_the_warning_and_no_event(api: InProcessApi) -> None:
    body = valid("Deployment")
    created = await api.send("create", path(api, body), body, dryRun="All")
    assert "no controller of this cluster" in created.warnings[-1]
    assert not events(api)


async def test_an_apply_that_creates_the_object_has_the_warning(api: InProcessApi) -> None:
    body = valid("Deployment", "n" * 240)
    applied = await api.patch("apply", f"{path(api, body)}/{'n' * 240}", body, fieldManager="me")
    assert applied.code == 201, applied.message
    assert "no controller of this cluster" in applied.warnings[-1]
    again = await api.patch("apply", f"{path(api, body)}/{'n' * 240}", body, fieldManager="me")
    assert (again.code, again.warnings) == (200, ())
    assert len(events(api)) == 1


async def test_without_our_controllers_others_may_act_on_the_object(api: InProcessApi) -> None:
    api.control_plane.cluster.controllers_enabled = False
    body = valid("Deployment")
    created = await api.send("create", path(api, body), body)
    assert (created.code, created.warnings) == (201, ())
    assert not events(api)
