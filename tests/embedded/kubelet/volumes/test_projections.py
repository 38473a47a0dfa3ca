"""configMap, secret, downwardAPI and projected volumes."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import json
import os
import pathlib
import stat
from typing import Any

import pytest
from tests.embedded.kubelet.volumes.pods import Node, contents

from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.objects.service_account_tokens import TokenCache, TokenRequest
from traincrew.model.resources import CONFIG_MAPS, SECRETS


def claims_of(token: bytes) -> Any:
    part = token.split(b".")[1]
    return json.loads(base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4)))


def mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


async def test_a_config_map_is_a_directory_with_a_file_for_each_key(node: Node) -> None:
    await node.config_map("c", {"a": "1", "b": "2"}, binaryData={"bin": "/wA="})
    pod = await node.pod({"name": "v", "configMap": {"name": "c"}})
    path = (await node.mount(pod)).path("v")
    assert contents(path) == {"a": b"1", "b": b"2", "bin": b"\xff\0"}
    assert mode(f"{path}/a") == 0o644


async def test_items_select_keys_paths_and_modes(node: Node) -> None:
    await node.config_map("c", {"run.sh": "#!", "hosts": "h", "no": "-"})
    items = [{"key": "run.sh", "path": "bin/run", "mode": 0o555}, {"key": "hosts", "path": "hosts"}]
    pod = await node.pod({"name": "v", "configMap": {"name": "c", "items": items, "defaultMode": 0o440}})
    path = (await node.mount(pod)).path("v")
    assert contents(path) == {"bin/run": b"#!", "hosts": b"h"}
    assert (mode(f"{path}/bin/run"), mode(f"{path}/hosts")) == (0o555, 0o440)


async def test_a_changed_config_map_is_replaced_atomically(node: Node) -> None:
    await node.config_map("c", {"a": "1", "old": "x"})
    pod = await node.pod({"name": "v", "configMap": {"name": "c"}})
    path = pathlib.Path((await node.mount(pod)).path("v"))
    before = os.readlink(path / "..data")
    await node.change("c", {"a": "2", "old": None, "new": "y"})
    await node.changed(pod)
    assert contents(path) == {"a": b"2", "new": b"y"}
    assert os.readlink(path / "..data") != before
    assert sorted(os.listdir(path)) == sorted(["..data", os.readlink(path / "..data"), "a", "new"])


async def test_unchanged_files_are_not_written_again(node: Node) -> None:
    await node.config_map("c", {"a": "1"})
    pod = await node.pod({"name": "v", "configMap": {"name": "c"}})
    path = (await node.mount(pod)).path("v")
    before = os.readlink(f"{path}/..data")
    assert not await node.refresh(pod)
    await node.mount(pod)
    assert os.readlink(f"{path}/..data") == before


async def test_a_missing_config_map_has_the_message_of_the_kubelet(node: Node) -> None:
    pod = await node.pod({"name": "v", "configMap": {"name": "none"}})
    with pytest.raises(volumes.VolumeNotReady) as error:
        await node.mount(pod)
    assert error.value.reason == "FailedMount"
    assert error.value.message == 'MountVolume.SetUp failed for volume "v" : configmap "none" not found'


async def test_a_waiting_pod_is_notified_when_its_config_map_is_created(node: Node) -> None:
    pod = await node.pod({"name": "v", "configMap": {"name": "late"}})
    with pytest.raises(volumes.VolumeNotReady):
        await node.mount(pod)
    await node.config_map("late", {"a": "1"})
    async with asyncio.timeout(10):
        assert await node.changes.get() == pod["metadata"]["uid"]
    assert contents((await node.mount(pod)).path("v")) == {"a": b"1"}


async def test_a_missing_key_is_reported(node: Node) -> None:
    await node.config_map("c", {"a": "1"})
    pod = await node.pod({"name": "v", "configMap": {"name": "c", "items": [{"key": "z", "path": "z"}]}})
    with pytest.raises(volumes.VolumeNotReady, match="configmap references non-existent config key: z"):
        await node.mount(pod)


async def test_optional_sources_may_be_missing(node: Node) -> None:
    await node.config_map("c", {"a": "1"})
    pod = await node.pod(
        {"name": "none", "configMap": {"name": "none", "optional": True}},
        {"name": "secret", "secret": {"secretName": "none", "optional": True}},
        {"name": "key", "configMap": {"name": "c", "optional": True, "items": [{"key": "z", "path": "z"}]}},
    )
    mounted = await node.mount(pod)
    assert [contents(mounted.path(name)) for name in ("none", "secret", "key")] == [{}, {}, {}]


async def test_files_of_a_deleted_config_map_are_kept_in_running_pods(node: Node) -> None:
    await node.config_map("c", {"a": "1"})
    pod = await node.pod({"name": "v", "configMap": {"name": "c"}})
    path = (await node.mount(pod)).path("v")
    await node.cluster.client.delete(CONFIG_MAPS, "default", "c")
    async with asyncio.timeout(10):
        await node.changes.get()
    with pytest.raises(volumes.VolumeNotReady, match="not found"):
        await node.refresh(pod)
    assert contents(path) == {"a": b"1"}


async def test_an_immutable_config_map_is_read_once(node: Node) -> None:
    await node.config_map("c", {"a": "1"}, immutable=True)
    pod = await node.pod({"name": "v", "configMap": {"name": "c"}})
    path = (await node.mount(pod)).path("v")
    await node.cluster.client.delete(CONFIG_MAPS, "default", "c")
    assert not await node.refresh(pod)
    assert contents(path) == {"a": b"1"}


async def test_a_secret_has_its_mode_below_a_private_directory(node: Node) -> None:
    await node.secret("s", {"key": b"\0secret"})
    pod = await node.pod({"name": "v", "secret": {"secretName": "s", "defaultMode": 0o400}})
    path = (await node.mount(pod)).path("v")
    assert contents(path) == {"key": b"\0secret"}
    assert mode(f"{path}/key") == 0o400
    directory = node.host(pod).directory
    assert (mode(str(directory)), mode(str(directory / "volumes"))) == (0o700, 0o700)


async def test_a_changed_secret_is_updated(node: Node) -> None:
    await node.secret("s", {"key": b"1"})
    pod = await node.pod({"name": "v", "secret": {"secretName": "s"}})
    path = (await node.mount(pod)).path("v")
    await node.cluster.patch(SECRETS, "s", {"stringData": {"key": "2"}})
    await node.changed(pod)
    assert contents(path) == {"key": b"2"}


async def test_the_downward_api_projects_fields_of_the_pod(node: Node) -> None:
    resources = {"limits": {"memory": "64Mi"}, "requests": {"cpu": "250m"}}
    items = [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "who/name", "fieldRef": {"fieldPath": "metadata.name"}},
        {"path": "memory", "resourceFieldRef": {"containerName": "main", "resource": "limits.memory", "divisor": "1Mi"}},
        {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "requests.cpu", "divisor": "1m"}},
    ]
    containers = [{"name": "main", "image": "x", "resources": resources}]
    pod = await node.pod({"name": "v", "downwardAPI": {"items": items}}, containers=containers)
    path = (await node.mount(pod)).path("v")
    assert contents(path) == {"labels": b'app="a"', "who/name": b"p", "memory": b"64", "cpu": b"250"}
    pod["metadata"]["labels"]["app"] = "b\n"
    assert await node.refresh(pod)
    assert contents(path)["labels"] == b'app="b\\n"'


async def test_every_pod_has_its_service_account_files(node: Node) -> None:
    pod = await node.pod()
    (volume,) = [each["name"] for each in pod["spec"]["volumes"]]
    files = contents((await node.mount(pod)).path(volume))
    assert sorted(files) == ["ca.crt", "namespace", "token"]
    assert files["namespace"] == b"default"
    assert files["ca.crt"] == node.cluster.control_plane.pki.authority
    claims = claims_of(files["token"])
    assert claims["kubernetes.io"]["pod"]["uid"] == pod["metadata"]["uid"]


async def test_a_token_has_its_audience_and_lifetime(node: Node) -> None:
    source = {"serviceAccountToken": {"path": "t", "audience": "vault", "expirationSeconds": 700}}
    pod = await node.pod({"name": "v", "projected": {"sources": [source]}})
    claims = claims_of(contents((await node.mount(pod)).path("v"))["t"])
    assert claims["aud"] == ["vault"]
    assert claims["exp"] - claims["iat"] == 700


async def test_a_token_belongs_to_the_only_user_of_the_pod(node: Node) -> None:
    if os.geteuid():
        pytest.skip("only root gives files away")
    pod = await node.pod(securityContext={"runAsUser": 1234})
    (volume,) = [each["name"] for each in pod["spec"]["volumes"]]
    status = os.stat((await node.mount(pod)).path(volume) + "/token")
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (1234, 0o600)


async def test_a_token_is_renewed_after_four_fifths_of_its_lifetime(node: Node) -> None:
    pod = await node.pod()
    now = [dt.datetime.now(dt.UTC)]
    due: list[str] = []
    tokens = TokenCache(node.cluster.client, due.append, clock=lambda: now[0])
    ask = TokenRequest("p", pod["metadata"]["uid"], seconds=1000)
    first = await tokens.get("default", "default", ask)
    renewal = tokens.renewal(ask.uid)
    assert renewal is not None
    assert dt.timedelta(seconds=785) < renewal - now[0] <= dt.timedelta(seconds=801)
    now[0] = renewal - dt.timedelta(seconds=1)
    assert await tokens.get("default", "default", ask) == first
    now[0] = renewal
    assert await tokens.get("default", "default", ask) != first
    tokens.forget(ask.uid)
    assert tokens.renewal(ask.uid) is None


async def test_a_projected_volume_merges_its_sources_and_reports_all_missing_ones(node: Node) -> None:
    await node.config_map("c", {"a": "1"})
    await node.secret("s", {"b": b"2"})
    sources = [
        {"configMap": {"name": "c", "items": [{"key": "a", "path": "x/a"}]}},
        {"secret": {"name": "s"}},
        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    pod = await node.pod({"name": "v", "projected": {"sources": sources}})
    assert contents((await node.mount(pod)).path("v")) == {"x/a": b"1", "b": b"2", "name": b"p"}
    wrong = [{"configMap": {"name": "n1"}}, {"secret": {"name": "n2"}}]
    pod = await node.pod({"name": "v", "projected": {"sources": wrong}}, name="q")
    with pytest.raises(volumes.VolumeNotReady) as error:
        await node.mount(pod)
    assert error.value.message.endswith(' : [configmap "n1" not found, secret "n2" not found]')


async def test_unmount_removes_all_volumes_and_watches_of_a_pod(node: Node) -> None:
    await node.config_map("c", {"a": "1"})
    pod = await node.pod({"name": "v", "configMap": {"name": "c"}}, {"name": "e", "emptyDir": {}})
    before = asyncio.all_tasks()
    mounted = await node.mount(pod)
    os.mkdir(f"{mounted.path('e')}/made")
    await node.unmount(pod)
    await node.unmount(pod)
    assert not node.host(pod).directory.exists()
    while asyncio.all_tasks() - before:
        await asyncio.wait(asyncio.all_tasks() - before, timeout=10)
    await node.change("c", {"a": "2"})
    assert node.changes.empty()


async def test_pods_that_share_a_config_map_share_its_watch(node: Node) -> None:
    await node.config_map("c", {"a": "1"})
    before = asyncio.all_tasks()
    one, other = [await node.pod({"name": "v", "configMap": {"name": "c"}}, name=name) for name in ("p", "q")]
    await node.mount(one)
    one_alone = len(asyncio.all_tasks() - before)
    await node.mount(other)
    assert len(asyncio.all_tasks() - before) == one_alone
    await node.unmount(one)
    await node.change("c", {"a": "2"})
    await node.changed(other)
    assert contents(node.host(other).volumes / "v") == {"a": b"2"}
