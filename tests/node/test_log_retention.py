"""Logs are kept after the deletion of pods and jobs and after restarts, until they exceed the limits of age or size."""

from __future__ import annotations

from tests.cluster.api import Object, consistently, eventually, rejected
from tests.node.local_cluster import LocalCluster, pod
from tests.node.pod_programs import wait_for_success

TWICE = "if [ -e /kept/once ]; then echo second; else touch /kept/once; echo first; exit 1; fi"


def job(name: str, script: str) -> Object:
    """Two replicas that leave no pod behind."""
    volumes = [{"name": "kept", "emptyDir": {}}]
    mounts = [{"name": "kept", "mountPath": "/kept"}]
    container = {"name": "tensorflow", "image": "example", "command": ["sh", "-c", script], "volumeMounts": mounts}
    template = {"spec": {"containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 1}}
    roles = {"Worker": {"replicas": 2, "restartPolicy": "OnFailure", "template": template}}
    spec = {"runPolicy": {"cleanPodPolicy": "All"}, "successPolicy": "AllWorkers", "tfReplicaSpecs": roles}
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": name}, "spec": spec}


def shown(cluster: LocalCluster, name: str, *options: str) -> list[str]:
    lines = cluster.traincrew("logs", name, *options).stdout.splitlines()
    return sorted(line.split("]")[-1].split("|")[-1].split()[-1] for line in lines if line.strip())


def test_traincrew_logs_shows_every_attempt_of_deleted_pods(cluster: LocalCluster) -> None:
    cluster.create(job("kept", TWICE))
    wait_for_success(cluster, "tfjobs", "kept")
    eventually(lambda: not [each for each in cluster.api.all("pods", "default") if each["metadata"]["name"].startswith("kept-")])
    all_lines = ["first", "first", "second", "second"]
    assert shown(cluster, "kept") == all_lines
    assert shown(cluster, "kept", "--replica", "worker-0") == ["first", "second"]
    cluster.traincrew("delete", "kept", "--wait")
    assert shown(cluster, "kept") == all_lines
    cluster.down()
    cluster.up()
    assert shown(cluster, "kept") == all_lines


def test_logs_of_a_pod_with_a_finalizer_can_be_read_until_the_finalizer_is_removed(cluster: LocalCluster) -> None:
    held = pod("held", "sh", "-c", "echo words; exec sleep 600", terminationGracePeriodSeconds=1)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create(held)
    eventually(lambda: cluster.logs("held") == "words\n")
    cluster.api.delete("pods", "default", "held")
    eventually(lambda: cluster.pod("held")["metadata"]["deletionGracePeriodSeconds"] == 0)
    consistently(lambda: cluster.logs("held") == "words\n")
    cluster.kill()
    cluster.up()
    assert cluster.logs("held") == "words\n"
    cluster.api.patch("pods", "default", "held", {"metadata": {"finalizers": None}})
    cluster.gone("held")
    with rejected(404):
        cluster.logs("held")
