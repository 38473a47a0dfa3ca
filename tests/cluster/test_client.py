"""The client against a real API server."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import pathlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import yaml
from tests.cluster.isolated_namespace import IsolatedNamespace
from tools.kube import cluster

from traincrew import errors
from traincrew.client import informer, interfaces, kubeconfig, remote, retries, store
from traincrew.model import meta
from traincrew.model.resources import CONFIG_MAPS, PODS, SECRETS, SERVICES


class Thing(meta.Struct):
    metadata: meta.Meta = meta.Meta()
    data: dict[str, str] = {}


decode = msgspec.json.Decoder(Thing).decode


@pytest.fixture
async def client(kube: cluster.Cluster) -> AsyncIterator[remote.RemoteClient]:
    async with connect(kube) as connected:
        yield connected


def connect(kube: cluster.Cluster) -> remote.RemoteClient:
    return remote.RemoteClient(kubeconfig.load(str(kube.kubeconfig)), limits=retries.RetryLimits(page_size=3))


def config_map(name: str, **data: str) -> bytes:
    return json.dumps({"metadata": {"name": name, "labels": {"of": "test"}}, "data": data}).encode()


def pod(name: str, **spec: Any) -> bytes:
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    return json.dumps(body).encode()


async def test_create_update_and_delete(client: remote.RemoteClient, namespace: str) -> None:
    made = decode(await client.create(CONFIG_MAPS, namespace, config_map("a", x="1")))
    assert decode(await client.get(CONFIG_MAPS, namespace, "a")) == made
    patched = decode(await client.patch(CONFIG_MAPS, namespace, "a", b'{"data":{"x":null,"y":"2"}}'))
    assert patched.data == {"y": "2"}
    operations = b'[{"op":"add","path":"/data/z","value":"3"}]'
    assert decode(await client.patch(CONFIG_MAPS, namespace, "a", operations, type="json")).data["z"] == "3"
    replaced = decode(await client.replace(CONFIG_MAPS, namespace, "a", config_map("a", w="4")))
    assert replaced.data == {"w": "4"}
    await client.delete(CONFIG_MAPS, namespace, "a", uid=made.metadata.uid)
    with pytest.raises(errors.NotFound):
        await client.get(CONFIG_MAPS, namespace, "a")


async def test_rejections_have_their_types(client: remote.RemoteClient, namespace: str) -> None:
    made = decode(await client.create(CONFIG_MAPS, namespace, config_map("a")))
    with pytest.raises(errors.AlreadyExists):
        await client.create(CONFIG_MAPS, namespace, config_map("a"))
    with pytest.raises(errors.Conflict):
        await client.patch(CONFIG_MAPS, namespace, "a", b'{"metadata":{"resourceVersion":"1"},"data":{"a":"b"}}')
    with pytest.raises(errors.Conflict):
        await client.delete(CONFIG_MAPS, namespace, "a", uid="of-another")
    with pytest.raises(errors.Rejected) as caught:
        await client.create(PODS, namespace, pod("P_!", restartPolicy="Sometimes"))
    assert {cause.field for cause in caught.value.causes} >= {"metadata.name", "spec.restartPolicy"}
    with pytest.raises(errors.NotFound):
        await client.create(CONFIG_MAPS, "no-such-namespace", config_map("a"))
    with pytest.raises(errors.Rejected):
        await client.get(CONFIG_MAPS, namespace, "../secrets")
    assert made.metadata.uid


async def test_a_misspelled_field_is_rejected_only_when_asked_strictly(client: remote.RemoteClient, namespace: str) -> None:
    body = pod("a", restartPolice="Never", serviceAccountName="default", automountServiceAccountToken=False)
    with pytest.raises(errors.Rejected, match=r'unknown field "spec\.restartPolice"'):
        await client.create(PODS, namespace, body, strict=True)
    with contextlib.suppress(errors.Forbidden):  # without a controller there is no service account
        await client.create(PODS, namespace, body)


async def test_a_list_comes_in_pages_of_one_version(client: remote.RemoteClient, namespace: str) -> None:
    for number in range(7):
        await client.create(CONFIG_MAPS, namespace, config_map(f"m-{number}"))
    pages: list[interfaces.Page] = []
    async for page in client.pages(CONFIG_MAPS, namespace, labels="of=test"):
        await client.create(CONFIG_MAPS, namespace, config_map(f"later-{len(pages)}"))
        pages.append(page)
    assert [len(page.items) for page in pages] == [3, 3, 1]
    assert len({page.resource_version for page in pages}) == 1
    assert sorted(decode(item).metadata.name for page in pages for item in page.items) == [f"m-{n}" for n in range(7)]


async def test_a_watch_reports_what_happens_after_a_version(client: remote.RemoteClient, namespace: str) -> None:
    before = decode(await client.create(CONFIG_MAPS, namespace, config_map("a")))
    version = before.metadata.resource_version
    await client.patch(CONFIG_MAPS, namespace, "a", b'{"data":{"x":"1"}}')
    await client.delete(CONFIG_MAPS, namespace, "a")
    seen = []
    async with contextlib.aclosing(client.watch(CONFIG_MAPS, namespace, labels="of=test", resource_version=version)) as changes:
        async for change in changes:
            seen.append((change.type, meta.version_number(decode(change.object).metadata.resource_version)))
            if change.type == "DELETED":
                break
    assert [kind for kind, _ in seen] == ["BOOKMARK", "MODIFIED", "DELETED"]
    versions = [number for _, number in seen]
    assert versions == sorted(set(versions))


# The API server of `isolated` has no operator. A real one answers 403 to everybody but administrators until it has read the
# RBAC objects again, and the operator of the other one must not get a 403.
async def test_a_version_that_the_server_no_longer_keeps_is_expired(isolated: IsolatedNamespace) -> None:
    async with connect(isolated.kube) as client:
        await client.create(CONFIG_MAPS, isolated.namespace, config_map("a"))
        isolated.kube.forget_history()
        async with asyncio.timeout(60):
            with pytest.raises(errors.Expired):
                await anext(aiter(_changes(client, isolated.namespace)))


async def _changes(client: remote.RemoteClient, namespace: str) -> AsyncIterator[interfaces.WatchEvent]:
    async for change in client.watch(CONFIG_MAPS, namespace, resource_version="1"):
        if change.type != "BOOKMARK":
            yield change


async def test_the_answer_to_a_delete_reports_whether_the_object_is_gone(
    client: remote.RemoteClient, namespace: str, kube: cluster.Cluster
) -> None:
    await _ensure_service_account(kube, namespace)
    copy = store.InformerStore(decode)
    service = json.dumps({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}], "clusterIP": "None"}}).encode()
    held = json.dumps({"metadata": {"name": "held", "finalizers": ["test/hold"]}}).encode()
    cases = [
        (PODS, pod("unscheduled"), True),
        (PODS, pod("running", nodeName="n"), False),
        (SERVICES, service, True),
        (CONFIG_MAPS, config_map("plain"), True),
        (CONFIG_MAPS, held, False),
    ]
    for resource, body, gone in cases:
        made = copy.apply_response(await client.create(resource, namespace, body))
        answer = await client.delete(resource, namespace, made.metadata.name, uid=made.metadata.uid)
        assert copy.apply_delete_response(made, answer) is gone, made.metadata.name
        try:
            await client.get(resource, namespace, made.metadata.name)
        except errors.NotFound:
            assert gone
        else:
            assert not gone
    await client.patch(CONFIG_MAPS, namespace, "held", b'{"metadata":{"finalizers":null}}')


async def _ensure_service_account(kube: cluster.Cluster, namespace: str) -> None:
    """Pods need one; where no controller makes it, we do."""
    await asyncio.to_thread(kube.kubectl, "create", "serviceaccount", "default", "-n", namespace)


async def test_an_informer_keeps_its_copy_through_a_restart_of_the_server(isolated: IsolatedNamespace) -> None:
    namespace = isolated.namespace
    changes: list[str] = []
    changed = asyncio.Event()

    def on_change(old: Thing | None, new: Thing | None) -> None:
        named = new or old
        assert named is not None
        changes.append(f"{'+' if old is None else '-' if new is None else '~'}{named.metadata.name}")
        changed.set()

    async def until(name: str, present: bool) -> None:
        async with asyncio.timeout(60):
            while (copy.get(namespace, name) is not None) is not present:
                changed.clear()
                await changed.wait()

    copy = store.InformerStore(decode, on_change)
    async with connect(isolated.kube) as client, asyncio.TaskGroup() as group:
        watching = informer.Informer(client, informer.Scope(CONFIG_MAPS, namespace, "of=test"), copy)
        running = group.create_task(watching.run())
        await watching.synced.wait()
        copy.apply_response(await client.create(CONFIG_MAPS, namespace, config_map("ours")))
        await client.create(CONFIG_MAPS, namespace, config_map("theirs"))
        await until("theirs", present=True)
        isolated.kube.restart_apiserver()  # from the main thread, as the harness wants it; our tasks stand still meanwhile
        await client.create(CONFIG_MAPS, namespace, config_map("later"))
        await until("later", present=True)
        await client.delete(CONFIG_MAPS, namespace, "theirs")
        await until("theirs", present=False)
        running.cancel()
    changes = [each for each in changes if each != "+ours"]  # reported only if the watch event arrives before the response
    assert changes == ["+theirs", "+later", "-theirs"]


def rewritten(kube: cluster.Cluster, tmp_path: pathlib.Path, source: pathlib.Path, user: dict[str, Any]) -> str:
    document = yaml.safe_load(source.read_text())
    for each in document["users"]:
        each["user"] = user
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return str(path)


async def plugin_user(tmp_path: pathlib.Path, status: dict[str, str]) -> dict[str, Any]:
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    script = tmp_path / "plugin"
    script.write_text(f"#!{sys.executable}\nprint({json.dumps(credential)!r})\n")
    script.chmod(0o700)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./plugin",
            "interactiveMode": "Never",
        }
    }


async def whoami(path: str) -> str:
    """The name that the server knows us by, found out by a request that is refused to it."""
    async with remote.RemoteClient(kubeconfig.load(path)) as client:
        try:
            await client.get(SECRETS, "kube-system", "nothing-by-this-name")
        except errors.Forbidden as refused:
            return refused.message.split('"')[3]
        except errors.NotFound:
            return "administrator"
    raise AssertionError("the secret exists")


async def test_a_service_accounts_token_is_taken_from_file_and_plugin_alike(
    kube: cluster.Cluster, namespace: str, tmp_path: pathlib.Path
) -> None:
    await _ensure_service_account(kube, namespace)
    source = kube.token_kubeconfig(namespace, "default")
    token = yaml.safe_load(source.read_text())["users"][0]["user"]["token"]
    expected = f"system:serviceaccount:{namespace}:default"
    assert await whoami(str(source)) == expected
    (tmp_path / "token").write_text(token)
    assert await whoami(rewritten(kube, tmp_path, source, {"tokenFile": "token"})) == expected
    user = await plugin_user(tmp_path, {"token": token})
    assert await whoami(rewritten(kube, tmp_path, source, user)) == expected


async def test_a_client_certificate_is_taken_from_file_and_plugin_alike(kube: cluster.Cluster, tmp_path: pathlib.Path) -> None:
    own = yaml.safe_load(kube.kubeconfig.read_text())["users"][0]["user"]
    if "client-certificate-data" not in own:
        pytest.skip("the cluster's administrator has no client certificate")
    certificate = base64.b64decode(own["client-certificate-data"]).decode()
    key = base64.b64decode(own["client-key-data"]).decode()
    (tmp_path / "client.crt").write_text(certificate)
    (tmp_path / "client.key").write_text(key)
    files = {"client-certificate": "client.crt", "client-key": "client.key"}
    assert await whoami(rewritten(kube, tmp_path, kube.kubeconfig, files)) == "administrator"
    user = await plugin_user(tmp_path, {"clientCertificateData": certificate, "clientKeyData": key})
    assert await whoami(rewritten(kube, tmp_path, kube.kubeconfig, user)) == "administrator"


async def test_a_token_that_the_server_does_not_know_is_unauthorized(kube: cluster.Cluster, tmp_path: pathlib.Path) -> None:
    path = rewritten(kube, tmp_path, kube.kubeconfig, {"token": "nobody's"})
    with pytest.raises(errors.Unauthorized):
        await whoami(path)


async def test_impersonation(kube: cluster.Cluster, tmp_path: pathlib.Path) -> None:
    own = yaml.safe_load(kube.kubeconfig.read_text())["users"][0]["user"]
    path = rewritten(kube, tmp_path, kube.kubeconfig, {**own, "as": "jane", "as-groups": ["system:authenticated"]})
    assert await whoami(path) == "jane"
