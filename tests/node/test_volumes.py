"""Volumes in containers."""

from __future__ import annotations

import os
import pathlib

from tests.cluster.api import Object, eventually
from tests.node.local_cluster import LocalCluster, pod, terminated


def mount(name: str, path: str, **more: object) -> Object:
    return {"name": name, "mountPath": path, **more}


def test_a_memory_volume_is_shared_by_the_containers_and_has_its_size_limit(cluster: LocalCluster) -> None:
    volumes = [{"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]
    other = {
        "name": "other", "image": "x", "volumeMounts": [mount("m", "/there")],
        "command": ["sh", "-c", "until [ -e /there/word ]; do sleep 0.05; done; cat /there/word; stat -f -c %T /there"],
    }  # fmt: skip
    script = "echo hello > /here/word; stat -f -c %T /here; head -c 2000000 /dev/zero > /here/big || echo full"
    cluster.create(pod("memory", "sh", "-c", script, volumes=volumes, volumeMounts=[mount("m", "/here")], containers=[other]))
    cluster.ended("memory")
    assert cluster.logs("memory", container="other").split() == ["hello", "tmpfs"]
    own = cluster.logs("memory", container="main").split()
    assert own[0] == "tmpfs"
    if cluster.level == "root":
        assert "full" in own  # beside the output of head: the order of the two streams is not defined


def test_an_empty_dir_survives_a_container_and_is_removed_with_its_pod(cluster: LocalCluster) -> None:
    volumes = [{"name": "e", "emptyDir": {}}]
    script = "echo x >> /e/f; [ $(wc -l < /e/f) -ge 2 ]"
    cluster.create(pod("kept", "sh", "-c", script, volumes=volumes, volumeMounts=[mount("e", "/e")], restartPolicy="OnFailure"))
    assert cluster.ended("kept", within=90)["status"]["phase"] == "Succeeded"
    uid = cluster.pod("kept")["metadata"]["uid"]
    cluster.api.delete("pods", "default", "kept")
    cluster.gone("kept")
    eventually(lambda: not (cluster.data / "node" / "pods" / uid).exists())


def test_host_paths_are_written_through_and_read_only_ones_are_not(cluster: LocalCluster) -> None:
    shared = cluster.home / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    volumes = [{"name": "h", "hostPath": {"path": str(shared), "type": "Directory"}}]
    mounts = [mount("h", str(shared)), mount("h", "/ro", readOnly=True)]
    script = f"echo theirs > {shared}/f; cat /ro/f; echo no > /ro/f"
    cluster.create(pod("through", "sh", "-c", script, volumes=volumes, volumeMounts=mounts))
    assert cluster.ended("through")["status"]["phase"] == "Failed"
    assert "theirs" in cluster.logs("through")
    assert (shared / "f").read_text() == "theirs\n"


def test_a_wrong_host_path_is_reported_as_in_the_kubelet(cluster: LocalCluster) -> None:
    volumes = [{"name": "h", "hostPath": {"path": "/etc/passwd", "type": "Directory"}}]
    cluster.create(pod("wrong", "true", volumes=volumes))
    message = 'MountVolume.SetUp failed for volume "h" : hostPath type check failed: /etc/passwd is not a directory'
    eventually(lambda: ("FailedMount", message) in cluster.events("wrong"))
    cluster.api.delete("pods", "default", "wrong", grace=0)


def test_the_clusters_data_are_hidden_in_a_volume_above_them(cluster: LocalCluster) -> None:
    volumes = [{"name": "h", "hostPath": {"path": str(cluster.home)}}]
    script = "ls -A /above/data | wc -l; cat /above/data/kubeconfig"
    cluster.create(pod("above", "sh", "-c", script, volumes=volumes, volumeMounts=[mount("h", "/above")]))
    assert cluster.ended("above")["status"]["phase"] == "Failed"
    assert "0" in cluster.logs("above").split("\n")


def test_a_claim_is_kept_from_pod_to_pod(cluster: LocalCluster) -> None:
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "kept"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }  # fmt: skip
    volumes = [{"name": "c", "persistentVolumeClaim": {"claimName": "kept"}}]
    mounts = [mount("c", "/train", subPath="run")]
    cluster.create(claim, pod("writes", "sh", "-c", "echo model > /train/m", volumes=volumes, volumeMounts=mounts))
    assert cluster.ended("writes")["status"]["phase"] == "Succeeded", cluster.logs("writes")
    cluster.create(pod("reads-claim", "cat", "/all/run/m", volumes=volumes, volumeMounts=[mount("c", "/all")]))
    assert cluster.ended("reads-claim")["status"]["phase"] == "Succeeded"
    assert cluster.logs("reads-claim") == "model\n"


def test_single_files_are_mounted_over_those_of_the_host(cluster: LocalCluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "motd"}, "data": {"m": "ours\n"}})
    volumes = [{"name": "v", "configMap": {"name": "motd"}}]
    mounts = [mount("v", "/etc/passwd", subPath="m"), mount("v", "/brand/new/file", subPath="m")]
    before = pathlib.Path("/etc/passwd").read_text()
    cluster.create(pod("over", "cat", "/etc/passwd", "/brand/new/file", volumes=volumes, volumeMounts=mounts))
    cluster.ended("over")
    assert cluster.logs("over") == "ours\nours\n"
    assert pathlib.Path("/etc/passwd").read_text() == before


def test_changes_arrive_although_the_daemon_was_killed(cluster: LocalCluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later"}, "data": {"word": "first"}})
    volumes = [{"name": "v", "configMap": {"name": "later"}}]
    script = "cat /v/word; echo; until grep -q second /v/word; do sleep 0.1; done; echo seen"
    cluster.create(pod("waits", "sh", "-c", script, volumes=volumes, volumeMounts=[mount("v", "/v")]))
    eventually(lambda: "first" in cluster.logs("waits"))
    cluster.kill()
    cluster.up()
    cluster.api.patch("configmaps", "default", "later", {"data": {"word": "second"}})
    assert cluster.ended("waits")["status"]["phase"] == "Succeeded"


def test_a_changed_annotation_arrives_in_a_running_pod(cluster: LocalCluster) -> None:
    item = {"path": "word", "fieldRef": {"fieldPath": "metadata.annotations['example.com/word']"}}
    volumes = [{"name": "v", "downwardAPI": {"items": [item]}}]
    script = "test ! -s /v/word; echo begins; until grep -q second /v/word; do sleep 0.1; done; echo seen"
    cluster.create(pod("annotated", "sh", "-ec", script, volumes=volumes, volumeMounts=[mount("v", "/v")]))
    eventually(lambda: "begins" in cluster.logs("annotated"))
    cluster.api.patch("pods", "default", "annotated", {"metadata": {"annotations": {"example.com/word": "second"}}})
    assert cluster.ended("annotated")["status"]["phase"] == "Succeeded"


def test_a_secret_is_readable_for_the_user_of_the_pod_only(cluster: LocalCluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "precious"}})
    volumes = [{"name": "s", "secret": {"secretName": "s", "defaultMode": 0o400}}]
    cluster.create(pod("secretive", "sh", "-c", "cat /s/key; echo; sleep 60", volumes=volumes, volumeMounts=[mount("s", "/s")]))
    eventually(lambda: cluster.logs("secretive") == "precious\n")
    uid = cluster.pod("secretive")["metadata"]["uid"]
    path = cluster.data / "node" / "pods" / uid
    for each in (path / "volumes", path, cluster.data):
        assert each.stat().st_mode & 0o077 == 0, each
    cluster.api.delete("pods", "default", "secretive", grace=0)


def test_variables_come_from_all_sources(cluster: LocalCluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "vars"}, "data": {"A": "1"}})
    env = [
        {"name": "B", "value": "$(A)-$(KUBERNETES_SERVICE_PORT)-$$(A)"},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    ]
    script = 'echo "$B $IP $HOSTNAME $0"; [ "$CPU" -gt 0 ] && [ -d "$HOME" ] && [ -w "$HOME" ]'
    source = [{"configMapRef": {"name": "vars"}}]
    cluster.create(pod("expanded", "sh", "-c", script, "$(A)", env=env, envFrom=source))
    ended = cluster.ended("expanded")
    assert cluster.logs("expanded").split() == ["1-443-$(A)", ended["status"]["podIP"], "expanded", "1"]
    assert terminated(ended)["exitCode"] == 0


def test_a_missing_config_map_keeps_a_container_waiting_as_in_the_kubelet(cluster: LocalCluster) -> None:
    cluster.create(pod("unset", "true", envFrom=[{"configMapRef": {"name": "absent"}}]))

    def waiting() -> Object:
        statuses = cluster.pod("unset")["status"].get("containerStatuses") or [{}]
        found: Object = statuses[0].get("state", {}).get("waiting", {})
        return found

    expected = {"reason": "CreateContainerConfigError", "message": 'configmap "absent" not found'}
    eventually(lambda: waiting() == expected)
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "absent"}, "data": {"A": "1"}})
    assert cluster.ended("unset")["status"]["phase"] == "Succeeded"


def test_processes_have_the_supplementary_groups_of_the_volumes(cluster: LocalCluster) -> None:
    if cluster.level != "root" or os.geteuid():
        return
    volumes = [{"name": "e", "emptyDir": {}}]
    grouped = pod("grouped", "sh", "-c", "id -G; stat -c %g /e", volumes=volumes, volumeMounts=[mount("e", "/e")])
    grouped["spec"]["securityContext"] = {"runAsUser": 1234, "runAsGroup": 1234, "fsGroup": 4321}
    cluster.create(grouped)
    assert cluster.ended("grouped")["status"]["phase"] == "Succeeded"
    assert cluster.logs("grouped").split() == ["1234", "4321", "4321"]


def test_an_ephemeral_volume_is_claimed_for_its_pod_and_deleted_with_it(cluster: LocalCluster) -> None:
    template = {
        "metadata": {"labels": {"of": "pod"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }
    volumes = [{"name": "own", "ephemeral": {"volumeClaimTemplate": template}}]
    cluster.create(pod("owner", "sh", "-c", "echo x > /own/f; cat /own/f", volumes=volumes, volumeMounts=[mount("own", "/own")]))
    assert cluster.ended("owner")["status"]["phase"] == "Succeeded"
    assert cluster.logs("owner") == "x\n"
    claim = cluster.api.get("persistentvolumeclaims", "default", "owner-own")
    (owner,) = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Pod", cluster.pod("owner")["metadata"]["uid"], True)
    assert (claim["metadata"]["labels"], claim["status"]["phase"]) == ({"of": "pod"}, "Bound")
    cluster.api.delete("pods", "default", "owner")
    eventually(lambda: cluster.api.find("persistentvolumeclaims", "default", "owner-own") is None)


def test_a_claim_of_another_owner_is_not_used_for_the_ephemeral_volume(cluster: LocalCluster) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    taken = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "robber-own"}, "spec": spec}
    volumes = [{"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    cluster.create(taken, pod("robber", "true", volumes=volumes, volumeMounts=[mount("own", "/own")]))
    message = "ephemeral volume own: PVC default/robber-own was not created for pod default/robber (pod is not owner)"
    eventually(lambda: ("FailedBinding", message) in cluster.events("robber"))
    cluster.api.delete("persistentvolumeclaims", "default", "robber-own")
    assert cluster.ended("robber")["status"]["phase"] == "Succeeded"
