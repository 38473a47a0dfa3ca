"""Logs outlive pods, jobs and the cluster's restarts, until they are too old or too many."""

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


def shown(machine: LocalCluster, name: str, *options: str) -> list[str]:
    lines = machine.traincrew("logs", name, *options).stdout.splitlines()
    return sorted(line.split("]")[-1].split("|")[-1].split()[-1] for line in lines if line.strip())


def test_traincrew_logs_shows_every_run_of_pods_that_are_gone(machine: LocalCluster) -> None:
    machine.create(job("kept", TWICE))
    wait_for_success(machine, "tfjobs", "kept")
    eventually(lambda: not [each for each in machine.api.all("pods", "default") if each["metadata"]["name"].startswith("kept-")])
    whole = ["first", "first", "second", "second"]
    assert shown(machine, "kept") == whole
    assert shown(machine, "kept", "--replica", "worker-0") == ["first", "second"]
    machine.traincrew("delete", "kept", "--wait")
    assert shown(machine, "kept") == whole
    machine.down()
    machine.up()
    assert shown(machine, "kept") == whole


def test_logs_of_a_pod_that_a_finalizer_holds_can_be_read_until_it_is_let_go(machine: LocalCluster) -> None:
    held = pod("held", "sh", "-c", "echo words; exec sleep 600", terminationGracePeriodSeconds=1)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    machine.create(held)
    eventually(lambda: machine.logs("held") == "words\n")
    machine.api.delete("pods", "default", "held")
    eventually(lambda: machine.pod("held")["metadata"]["deletionGracePeriodSeconds"] == 0)
    consistently(lambda: machine.logs("held") == "words\n")
    machine.kill()
    machine.up()
    assert machine.logs("held") == "words\n"
    machine.api.patch("pods", "default", "held", {"metadata": {"finalizers": None}})
    machine.gone("held")
    with rejected(404):
        machine.logs("held")
