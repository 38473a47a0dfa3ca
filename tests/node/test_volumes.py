"""Volumes as containers find them."""

from __future__ import annotations

import os
import pathlib

from tests.cluster.api import Object, eventually
from tests.node.local_cluster import LocalCluster, pod, terminated


def mount(name: str, path: str, **more: object) -> Object:
    return {"name": name, "mountPath": path, **more}


def test_memory_is_shared_by_a_pods_containers_and_as_large_as_it_says(machine: LocalCluster) -> None:
    volumes = [{"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]
    other = {
        "name": "other", "image": "x", "volumeMounts": [mount("m", "/there")],
        "command": ["sh", "-c", "until [ -e /there/word ]; do sleep 0.05; done; cat /there/word; stat -f -c %T /there"],
    }  # fmt: skip
    script = "echo hello > /here/word; stat -f -c %T /here; head -c 2000000 /dev/zero > /here/big || echo full"
    machine.create(pod("memory", "sh", "-c", script, volumes=volumes, volumeMounts=[mount("m", "/here")], containers=[other]))
    machine.ended("memory")
    assert machine.logs("memory", container="other").split() == ["hello", "tmpfs"]
    own = machine.logs("memory", container="main").split()
    assert own[0] == "tmpfs"
    if machine.level == "root":
        assert "full" in own  # beside what head says: the two streams have no order


def test_scratch_space_outlives_a_container_and_goes_with_its_pod(machine: LocalCluster) -> None:
    volumes = [{"name": "e", "emptyDir": {}}]
    script = "echo x >> /e/f; [ $(wc -l < /e/f) -ge 2 ]"
    machine.create(pod("kept", "sh", "-c", script, volumes=volumes, volumeMounts=[mount("e", "/e")], restartPolicy="OnFailure"))
    assert machine.ended("kept", within=90)["status"]["phase"] == "Succeeded"
    uid = machine.pod("kept")["metadata"]["uid"]
    machine.api.delete("pods", "default", "kept")
    machine.gone("kept")
    eventually(lambda: not (machine.data / "node" / "pods" / uid).exists())


def test_host_paths_are_written_through_and_read_only_ones_are_not(machine: LocalCluster) -> None:
    shared = machine.home / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    volumes = [{"name": "h", "hostPath": {"path": str(shared), "type": "Directory"}}]
    mounts = [mount("h", str(shared)), mount("h", "/ro", readOnly=True)]
    script = f"echo theirs > {shared}/f; cat /ro/f; echo no > /ro/f"
    machine.create(pod("through", "sh", "-c", script, volumes=volumes, volumeMounts=mounts))
    assert machine.ended("through")["status"]["phase"] == "Failed"
    assert "theirs" in machine.logs("through")
    assert (shared / "f").read_text() == "theirs\n"


def test_a_wrong_host_path_is_told_in_the_kubelets_words(machine: LocalCluster) -> None:
    volumes = [{"name": "h", "hostPath": {"path": "/etc/passwd", "type": "Directory"}}]
    machine.create(pod("wrong", "true", volumes=volumes))
    told = 'MountVolume.SetUp failed for volume "h" : hostPath type check failed: /etc/passwd is not a directory'
    eventually(lambda: ("FailedMount", told) in machine.events("wrong"))
    machine.api.delete("pods", "default", "wrong", grace=0)


def test_the_clusters_data_are_hidden_in_a_volume_above_them(machine: LocalCluster) -> None:
    volumes = [{"name": "h", "hostPath": {"path": str(machine.home)}}]
    script = "ls -A /above/data | wc -l; cat /above/data/kubeconfig"
    machine.create(pod("above", "sh", "-c", script, volumes=volumes, volumeMounts=[mount("h", "/above")]))
    assert machine.ended("above")["status"]["phase"] == "Failed"
    assert "0" in machine.logs("above").split("\n")


def test_a_claim_is_kept_from_pod_to_pod(machine: LocalCluster) -> None:
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "kept"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }  # fmt: skip
    volumes = [{"name": "c", "persistentVolumeClaim": {"claimName": "kept"}}]
    mounts = [mount("c", "/train", subPath="run")]
    machine.create(claim, pod("writes", "sh", "-c", "echo model > /train/m", volumes=volumes, volumeMounts=mounts))
    assert machine.ended("writes")["status"]["phase"] == "Succeeded", machine.logs("writes")
    machine.create(pod("reads-claim", "cat", "/all/run/m", volumes=volumes, volumeMounts=[mount("c", "/all")]))
    assert machine.ended("reads-claim")["status"]["phase"] == "Succeeded"
    assert machine.logs("reads-claim") == "model\n"


def test_single_files_are_mounted_over_those_of_the_host(machine: LocalCluster) -> None:
    machine.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "motd"}, "data": {"m": "ours\n"}})
    volumes = [{"name": "v", "configMap": {"name": "motd"}}]
    mounts = [mount("v", "/etc/passwd", subPath="m"), mount("v", "/brand/new/file", subPath="m")]
    before = pathlib.Path("/etc/passwd").read_text()
    machine.create(pod("over", "cat", "/etc/passwd", "/brand/new/file", volumes=volumes, volumeMounts=mounts))
    machine.ended("over")
    assert machine.logs("over") == "ours\nours\n"
    assert pathlib.Path("/etc/passwd").read_text() == before


def test_changes_arrive_although_the_daemon_was_killed(machine: LocalCluster) -> None:
    machine.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later"}, "data": {"word": "first"}})
    volumes = [{"name": "v", "configMap": {"name": "later"}}]
    script = "cat /v/word; echo; until grep -q second /v/word; do sleep 0.1; done; echo seen"
    machine.create(pod("waits", "sh", "-c", script, volumes=volumes, volumeMounts=[mount("v", "/v")]))
    eventually(lambda: "first" in machine.logs("waits"))
    machine.kill()
    machine.up()
    machine.api.patch("configmaps", "default", "later", {"data": {"word": "second"}})
    assert machine.ended("waits")["status"]["phase"] == "Succeeded"


def test_a_secret_is_for_the_pods_user_only_and_nobody_on_the_host_reads_it(machine: LocalCluster) -> None:
    machine.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "precious"}})
    volumes = [{"name": "s", "secret": {"secretName": "s", "defaultMode": 0o400}}]
    machine.create(pod("secretive", "sh", "-c", "cat /s/key; echo; sleep 60", volumes=volumes, volumeMounts=[mount("s", "/s")]))
    eventually(lambda: machine.logs("secretive") == "precious\n")
    uid = machine.pod("secretive")["metadata"]["uid"]
    path = machine.data / "node" / "pods" / uid
    for each in (path / "volumes", path, machine.data):
        assert each.stat().st_mode & 0o077 == 0, each
    machine.api.delete("pods", "default", "secretive", grace=0)


def test_variables_come_from_everywhere(machine: LocalCluster) -> None:
    machine.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "vars"}, "data": {"A": "1"}})
    env = [
        {"name": "B", "value": "$(A)-$(KUBERNETES_SERVICE_PORT)-$$(A)"},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    ]
    script = 'echo "$B $IP $HOSTNAME $0"; [ "$CPU" -gt 0 ] && [ -d "$HOME" ] && [ -w "$HOME" ]'
    source = [{"configMapRef": {"name": "vars"}}]
    machine.create(pod("told", "sh", "-c", script, "$(A)", env=env, envFrom=source))
    ended = machine.ended("told")
    assert machine.logs("told").split() == ["1-443-$(A)", ended["status"]["podIP"], "told", "1"]
    assert terminated(ended)["exitCode"] == 0


def test_a_missing_config_map_keeps_a_container_waiting_in_the_kubelets_words(machine: LocalCluster) -> None:
    machine.create(pod("unset", "true", envFrom=[{"configMapRef": {"name": "absent"}}]))

    def waiting() -> Object:
        statuses = machine.pod("unset")["status"].get("containerStatuses") or [{}]
        found: Object = statuses[0].get("state", {}).get("waiting", {})
        return found

    expected = {"reason": "CreateContainerConfigError", "message": 'configmap "absent" not found'}
    eventually(lambda: waiting() == expected)
    machine.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "absent"}, "data": {"A": "1"}})
    assert machine.ended("unset")["status"]["phase"] == "Succeeded"


def test_the_groups_of_volumes_are_the_processes(machine: LocalCluster) -> None:
    if machine.level != "root" or os.geteuid():
        return
    volumes = [{"name": "e", "emptyDir": {}}]
    made = pod("grouped", "sh", "-c", "id -G; stat -c %g /e", volumes=volumes, volumeMounts=[mount("e", "/e")])
    made["spec"]["securityContext"] = {"runAsUser": 1234, "runAsGroup": 1234, "fsGroup": 4321}
    machine.create(made)
    assert machine.ended("grouped")["status"]["phase"] == "Succeeded"
    assert machine.logs("grouped").split() == ["1234", "4321", "4321"]


def test_a_volume_of_the_pods_own_is_claimed_for_it_and_goes_with_it(machine: LocalCluster) -> None:
    template = {
        "metadata": {"labels": {"of": "pod"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }
    volumes = [{"name": "own", "ephemeral": {"volumeClaimTemplate": template}}]
    machine.create(pod("owner", "sh", "-c", "echo x > /own/f; cat /own/f", volumes=volumes, volumeMounts=[mount("own", "/own")]))
    assert machine.ended("owner")["status"]["phase"] == "Succeeded"
    assert machine.logs("owner") == "x\n"
    claim = machine.api.get("persistentvolumeclaims", "default", "owner-own")
    (owner,) = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Pod", machine.pod("owner")["metadata"]["uid"], True)
    assert (claim["metadata"]["labels"], claim["status"]["phase"]) == ({"of": "pod"}, "Bound")
    machine.api.delete("pods", "default", "owner")
    eventually(lambda: machine.api.find("persistentvolumeclaims", "default", "owner-own") is None)


def test_a_claim_of_somebody_else_is_not_taken_for_the_pods_own(machine: LocalCluster) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    taken = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "robber-own"}, "spec": spec}
    volumes = [{"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    machine.create(taken, pod("robber", "true", volumes=volumes, volumeMounts=[mount("own", "/own")]))
    told = "ephemeral volume own: PVC default/robber-own was not created for pod default/robber (pod is not owner)"
    eventually(lambda: ("FailedBinding", told) in machine.events("robber"))
    machine.api.delete("persistentvolumeclaims", "default", "robber-own")
    assert machine.ended("robber")["status"]["phase"] == "Succeeded"
