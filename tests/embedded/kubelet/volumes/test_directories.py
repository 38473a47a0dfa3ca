"""emptyDir, hostPath and persistentVolumeClaim volumes."""

from __future__ import annotations

import asyncio
import os
import pathlib
import socket
import stat
import subprocess
import sys
import tempfile
from typing import Any, cast

import pytest
from tests.embedded.kubelet.volumes import pods
from tests.embedded.kubelet.volumes.pods import Node

from traincrew.client import interfaces
from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.objects.object_cache import ObjectCache
from traincrew.embedded.kubelet.runtime.spec import Isolation
from traincrew.embedded.kubelet.volumes import empty_dir, ephemeral_storage, fs_group, host_path, mounter
from traincrew.embedded.kubelet.volumes.errors import VolumeSourceError
from traincrew.model.resources import VOLUME_CLAIMS, VOLUMES

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

Object = dict[str, Any]


def assert_gone(path: pathlib.Path) -> None:
    assert not path.exists()
    assert str(path) not in pathlib.Path("/proc/self/mountinfo").read_text()


async def test_an_empty_dir_is_writable_for_all_users_of_the_pod_and_kept(node: Node) -> None:
    pod = await node.pod({"name": "e", "emptyDir": {}})
    path = pathlib.Path((await node.mount(pod)).path("e"))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o777
    (path / "f").write_text("x")
    await node.mount(pod)
    assert (path / "f").read_text() == "x"


@as_root
async def test_an_empty_dir_in_memory_has_its_size_and_survives_the_daemon(node: Node) -> None:
    pod = await node.pod({"name": "e", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}})
    try:
        path = pathlib.Path((await node.mount(pod)).path("e"))
        (path / "f").write_text("x")
        with pytest.raises(OSError, match="No space left"):
            (path / "big").write_bytes(bytes(2 << 20))
        assert (await node.mount(pod)).path("e") == str(path)
        assert (path / "f").read_text() == "x"
    finally:
        await node.unmount(pod)
    assert_gone(path)


async def test_without_root_an_empty_dir_in_memory_is_a_private_directory_of_shared_memory(tmp_path: pathlib.Path) -> None:
    host = volumes.VolumeHost(tmp_path / "uid-of-the-pod", isolation=Isolation.USER)
    try:
        path = pathlib.Path(empty_dir.create("e", {"medium": "Memory"}, host))
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        (path / "f").write_bytes(bytes(2 << 20))
        pod = {"spec": {"containers": [], "volumes": [{"name": "e", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]}}
        assert ephemeral_storage.exceeded_limit(pod, host, tmp_path) == 'Usage of EmptyDir volume "e" exceeds the limit "1Mi". '
        (path / "f").unlink()
        assert ephemeral_storage.exceeded_limit(pod, host, tmp_path) == ""
    finally:
        await mounter.release_memory(host, pods.remove)
    assert not path.parent.exists()


async def test_other_media_are_rejected(node: Node) -> None:
    pod = await node.pod({"name": "e", "emptyDir": {"medium": "HugePages"}}, containers=[
        {"name": "main", "image": "x", "resources": {"limits": {"hugepages-2Mi": "2Mi", "memory": "4Mi", "cpu": "1"}}}
    ])  # fmt: skip
    with pytest.raises(volumes.VolumeError, match="medium HugePages"):
        await node.mount(pod)


def test_the_type_of_a_host_path_is_checked(tmp_path: pathlib.Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "f").write_text("x")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        kinds = {"Directory": "d", "File": "f", "Socket": "s", "CharDevice": "/dev/null"}
        for kind, name in kinds.items():
            assert host_path.resolve({"path": str(tmp_path / name), "type": kind}) == str(tmp_path / name)
    words = {
        "Directory": ("f", "a directory"), "DirectoryOrCreate": ("f", "a directory"), "File": ("d", "a file"),
        "FileOrCreate": ("d", "a file"), "Socket": ("f", "a socket file"), "CharDevice": ("f", "a character device"),
        "BlockDevice": ("f", "a block device"),
    }  # fmt: skip
    for kind, (name, description) in words.items():
        with pytest.raises(VolumeSourceError) as error:
            host_path.resolve({"path": str(tmp_path / name), "type": kind})
        assert str(error.value) == f"hostPath type check failed: {tmp_path / name} is not {description}"


def test_missing_host_paths_are_created_unless_the_type_requires_them(tmp_path: pathlib.Path) -> None:
    with pytest.raises(VolumeSourceError):
        host_path.resolve({"path": str(tmp_path / "none"), "type": "Directory"})
    assert not (tmp_path / "none").exists()
    assert host_path.resolve({"path": str(tmp_path / "plain")}) == str(tmp_path / "plain")
    assert (tmp_path / "plain").is_dir(), "as container runtimes do for a path without a type"
    host_path.resolve({"path": str(tmp_path / "a" / "b"), "type": "DirectoryOrCreate"})
    host_path.resolve({"path": str(tmp_path / "a" / "f"), "type": "FileOrCreate"})
    assert (tmp_path / "a" / "b").is_dir()
    assert (tmp_path / "a" / "f").is_file()
    with pytest.raises(VolumeSourceError, match="no such file"):
        host_path.resolve({"path": str(tmp_path / "x" / "f"), "type": "FileOrCreate"})


async def test_no_host_path_exposes_the_data_directory(node: Node, tmp_path: pathlib.Path) -> None:
    link = tmp_path.with_name(f"{tmp_path.name}-link")
    link.symlink_to(tmp_path)
    try:
        for number, path in enumerate((tmp_path, tmp_path / "pki", link)):
            pod = await node.pod({"name": "v", "hostPath": {"path": str(path)}}, name=f"p{number}")
            with pytest.raises(volumes.VolumeNotReady, match="is in the cluster's data directory"):
                await node.mount(pod)
    finally:
        link.unlink()


@pytest.mark.parametrize("source", [{"nfs": {"server": "s", "path": "/"}}, {"csi": {"driver": "d"}}])
async def test_unsupported_volumes_are_rejected_permanently(node: Node, source: Object) -> None:
    pod = await node.pod({"name": "v", **source})
    with pytest.raises(volumes.VolumeUnsupported) as error:
        await node.mount(pod)
    kind = next(iter(source))
    assert error.value.message.startswith(f'MountVolume.SetUp failed for volume "v" : volumes of kind {kind}')


async def bound_claim_pod(node: Node, source: Object, **annotations: str) -> Object:
    """Creates a bound claim c. Returns a pod that uses it."""
    space = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    claim = await node.cluster.create(
        VOLUME_CLAIMS,
        {"metadata": {"name": "c"}, "spec": {**space, "volumeName": "pv", "resources": {"requests": {"storage": "1Gi"}}}},
    )
    claim_ref = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c", "uid": claim["metadata"]["uid"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}
    more = {"nodeAffinity": affinity} if "local" in source else {}
    spec = {**space, "capacity": {"storage": "1Gi"}, "claimRef": claim_ref, **source, **more}
    await node.cluster.create(VOLUMES, {"metadata": {"name": "pv", "annotations": annotations}, "spec": spec})
    await node.cluster.patch(VOLUME_CLAIMS, "c", {"status": {"phase": "Bound"}}, "status")
    return await node.pod({"name": "v", "persistentVolumeClaim": {"claimName": "c"}})


async def test_a_bound_claim_is_the_directory_of_its_volume(node: Node, tmp_path: pathlib.Path) -> None:
    (tmp_path / "volumes" / "x").mkdir(parents=True)
    path = str(tmp_path / "volumes" / "x")
    pod = await bound_claim_pod(node, {"hostPath": {"path": path}}, **{"pv.beta.kubernetes.io/gid": "1234"})
    mounted = await node.mount(pod)
    assert mounted.volumes["v"] == volumes.MountableVolume(path)
    assert mounted.groups == (1234,)
    pod["spec"]["volumes"][0]["persistentVolumeClaim"]["readOnly"] = True
    assert (await node.mount(pod)).volumes["v"].read_only
    await node.unmount(pod)
    assert os.listdir(path) == []


async def test_a_claim_that_is_not_ready_has_the_message_of_the_kubelet(node: Node) -> None:
    pod = await node.pod({"name": "v", "persistentVolumeClaim": {"claimName": "c"}})
    with pytest.raises(volumes.VolumeNotReady) as error:
        await node.mount(pod)
    words = 'error processing PVC default/c: failed to fetch PVC from API server: persistentvolumeclaims "c" not found'
    assert error.value.message == (
        f"Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: {words}"
    )
    space = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await node.cluster.create(VOLUME_CLAIMS, {"metadata": {"name": "c"}, "spec": space})
    with pytest.raises(volumes.VolumeNotReady, match="error processing PVC default/c: PVC is not bound"):
        await node.mount(pod)


async def test_a_local_volume_must_exist(node: Node) -> None:
    pod = await bound_claim_pod(node, {"local": {"path": "/none/such"}})
    with pytest.raises(volumes.VolumeNotReady) as error:
        await node.mount(pod)
    assert error.value.message == 'MountVolume.SetUp failed for volume "pv" : path "/none/such" does not exist'


async def test_an_unsupported_persistent_volume_is_rejected_permanently(node: Node) -> None:
    pod = await bound_claim_pod(node, {"nfs": {"server": "s", "path": "/"}})
    with pytest.raises(volumes.VolumeUnsupported, match=r"volumes of kind nfs are not supported"):
        await node.mount(pod)


@as_root
async def test_fs_group_owns_empty_dirs_projections_and_local_claims(node: Node, tmp_path: pathlib.Path) -> None:
    kept = tmp_path / "kept"
    (kept / "deep").mkdir(parents=True)
    (kept / "deep" / "f").write_text("x")
    (kept / "link").symlink_to("/etc/passwd")
    outside = os.stat("/etc/passwd")
    await node.config_map("c", {"a": "1"})
    pod = await bound_claim_pod(node, {"local": {"path": str(kept)}})
    pod["spec"]["securityContext"] = {"fsGroup": 4321}
    pod["spec"]["volumes"] += [{"name": "e", "emptyDir": {}}, {"name": "m", "configMap": {"name": "c"}}]
    mounted = await node.mount(pod)
    assert mounted.groups == (4321,)
    assert mounted.notes == ()
    for path in (kept, kept / "deep", pathlib.Path(mounted.path("e"))):
        assert path.stat().st_gid == 4321
        assert path.stat().st_mode & (stat.S_ISGID | 0o070) == stat.S_ISGID | 0o070
    for path in (kept / "deep" / "f", pathlib.Path(mounted.path("m"), "a")):
        assert path.stat().st_gid == 4321
        assert path.stat().st_mode & 0o040
    assert (os.stat("/etc/passwd").st_gid, os.stat("/etc/passwd").st_mode) == (outside.st_gid, outside.st_mode)
    (kept / "deep" / "f").chmod(0o600)
    await node.mount(pod)
    assert stat.S_IMODE((kept / "deep" / "f").stat().st_mode) == 0o600


NAMESPACE = """
import sys
from traincrew.embedded.kubelet.runtime import syscalls
syscalls.unshare(syscalls.CLONE_NEWUSER)
print("ready", flush=True)
sys.stdin.read()
"""


@as_root
def test_fs_group_applies_to_mapped_groups_of_a_user_namespace(tmp_path: pathlib.Path) -> None:
    volume = tmp_path / "v"
    volume.mkdir()
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", NAMESPACE], stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        child.stdout.readline()
        for kind in ("uid", "gid"):
            pathlib.Path(f"/proc/{child.pid}/{kind}_map").write_text("0 0 65536")
        assert fs_group.apply_in_namespace(child.pid, str(volume), 4321) == ""
        assert volume.stat().st_gid == 4321
        assert "Invalid argument" in fs_group.apply_in_namespace(child.pid, str(volume), 70000)


@as_root
def test_an_unavailable_fs_group_is_reported_to_an_ordinary_user() -> None:
    """Runs in a child process, because the change of the user id is permanent."""
    child = os.fork()
    if not child:
        os._exit(_as_ordinary_user())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _as_ordinary_user() -> int:
    os.setgroups([])
    os.setgid(54321)
    os.setuid(54321)
    pod = {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {
        "containers": [{"name": "main"}], "securityContext": {"fsGroup": 4321}, "volumes": [{"name": "e", "emptyDir": {}}],
    }}  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        host = volumes.VolumeHost(pathlib.Path(directory, "u"), isolation=Isolation.USER)
        objects = ObjectCache(cast(interfaces.Client, None), lambda uid: None)  # the pod refers to no object
        mounted = asyncio.run(volumes.mount(pod, objects, host))
    expected = 'fsGroup 4321 is not applied to volume "e": only root can change the group of files'
    return 0 if mounted.notes == (expected,) else 1
