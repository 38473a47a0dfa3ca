"""Limits of ephemeral storage, and fsGroup, with the messages of the kubelet, at each isolation level."""

from __future__ import annotations

import os

import pytest
from tests.cluster.api import Object, consistently, eventually
from tests.node import pod_programs
from tests.node.local_cluster import LocalCluster, pod, terminated

MIB = 1 << 20
LARGE, SMALL = 3 * MIB, MIB // 4


def writer(name: str, path: str, size: int, **spec: object) -> Object:
    """A pod that writes so many bytes to the path and keeps running."""
    script = f"head -c {size} /dev/zero > {path} && echo written && exec sleep 600"
    return pod(name, "sh", "-c", script, **spec)


def scratch(limit: str = "") -> Object:
    source = {"sizeLimit": limit} if limit else {}
    return {"volumes": [{"name": "space", "emptyDir": source}], "volumeMounts": [{"name": "space", "mountPath": "/space"}]}


def limit(size: str) -> Object:
    return {"resources": {"limits": {"ephemeral-storage": size}}}


def logger(name: str, size: int, **spec: object) -> Object:
    return pod(name, "sh", "-c", f"head -c {size} /dev/zero | tr '\\0' '\\n'; exec sleep 600", **spec)


def assert_evicted(cluster: LocalCluster, name: str, message: str) -> None:
    ended = cluster.ended(name)
    status = ended["status"]
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", message)
    assert not [each for each in status["conditions"] if each["type"] == "DisruptionTarget"], "its own doing is no disruption"
    assert terminated(ended)["exitCode"] in (137, 143)
    eventually(lambda: ("Evicted", message) in cluster.events(name))


def test_a_pod_whose_empty_dir_exceeds_its_limit_is_evicted(cluster: LocalCluster) -> None:
    cluster.create(writer("grows", "/space/file", LARGE, **scratch("1Mi")))
    assert_evicted(cluster, "grows", 'Usage of EmptyDir volume "space" exceeds the limit "1Mi". ')


def test_a_pod_whose_writable_layer_exceeds_its_limit_is_evicted(cluster: LocalCluster) -> None:
    """The limit of the pod is checked first. The limit of another container makes it larger than that of the writer."""
    other = {"name": "other", "image": "example", "command": ["sleep", "600"], **limit("1Gi")}
    cluster.create(writer("layer", "$HOME/file", LARGE, **limit("1Mi"), containers=[other]))
    assert_evicted(cluster, "layer", 'Container main exceeded its local ephemeral storage limit "1Mi". ')


def test_a_pod_whose_layers_volumes_and_logs_exceed_its_limit_is_evicted(cluster: LocalCluster) -> None:
    message = "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "
    cluster.create(writer("whole", "/space/file", LARGE, **scratch(), **limit("1Mi")))
    cluster.create(logger("talks", LARGE // 40, **limit("1Mi")))
    assert_evicted(cluster, "whole", message)
    assert_evicted(cluster, "talks", message)


def test_pods_below_or_without_a_limit_are_not_evicted(cluster: LocalCluster) -> None:
    cluster.create(writer("below", "/space/file", SMALL, **scratch("2Mi"), **limit("2Mi")), writer("free", "$HOME/f", LARGE))
    cluster.create(writer("sentinel", "/space/file", LARGE, **scratch("1Mi")))
    for name in ("below", "free"):
        eventually(lambda name=name: cluster.logs(name) == "written\n")  # type: ignore[misc]
    cluster.ended("sentinel")  # so the other pods were measured after their writes, or are in the same round
    consistently(lambda: all(cluster.pod(name)["status"]["phase"] == "Running" for name in ("below", "free")))
    for name in ("below", "free"):
        cluster.api.delete("pods", "default", name, grace=0)


def test_an_eviction_for_storage_is_the_jobs_failure(cluster: LocalCluster) -> None:
    job = pod_programs.pytorch(cluster, "greedy", "", workers=0, restart="Never")
    template = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    template["volumes"] = scratch("1Mi")["volumes"]
    command = ["sh", "-c", f"head -c {LARGE} /dev/zero > /space/file; exec sleep 600"]
    template["containers"][0] |= {"command": command, "volumeMounts": scratch()["volumeMounts"]}
    cluster.create(job)
    found = eventually(lambda: pod_programs.condition(job := _job(cluster), "Failed") and job, 60)
    assert found["status"]["failure"]["reason"] == "Evicted"
    assert "disruptions" not in found["status"].get("restarts", {})


def _job(cluster: LocalCluster) -> Object:
    return cluster.api.get("pytorchjobs", "default", "greedy")


@pytest.mark.skipif(os.geteuid() != 0, reason="root gives files to any group; this is about an ordinary user that root makes up")
def test_an_unavailable_fs_group_is_an_event_and_does_not_delay_the_pod(cluster: LocalCluster) -> None:
    grouped = pod("grouped", "sh", "-c", "stat -c %g /space", **scratch())
    grouped["spec"]["securityContext"] = {"fsGroup": 4321}
    cluster.create(grouped)
    assert cluster.ended("grouped")["status"]["phase"] == "Succeeded"
    detail = [message for reason, message in cluster.events("grouped") if reason == "FSGroupNotApplied"]
    if cluster.level == "root":
        assert (cluster.logs("grouped"), detail) == ("4321\n", [])
        return
    detail = eventually(lambda: [text for reason, text in cluster.events("grouped") if reason == "FSGroupNotApplied"])
    assert len(detail) == 1
    assert detail[0].startswith("fsGroup 4321 is not applied: ")
