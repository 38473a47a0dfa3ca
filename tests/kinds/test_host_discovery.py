"""The host list of Horovod Elastic: returned workers and late workers are used."""

from __future__ import annotations

import datetime as dt
import subprocess
from typing import Any

import msgspec
import pytest
from tests.kinds.replicas import defaulted
from tests.planner import manifests

from traincrew.kinds.horovod import horovodrun, host_discovery
from traincrew.kinds.mpi import files
from traincrew.model import objects
from traincrew.model.observed import Observed

Manifest = dict[str, Any]
COMMAND = ["horovodrun", "-np", "2", "--min-np", "1", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "train"]
EARLY, START, LATE = (f"2026-01-01T12:00:{second}Z" for second in ("00", "10", "20"))


def job(workers: int = 3, command: list[str] = COMMAND) -> Manifest:
    made = manifests.job("MPIJob", Launcher=1, Worker=workers)
    made["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = command
    return made


def worker(index: int, ready: str = EARLY, restarts: int = 0, annotations: dict[str, str] | None = None) -> objects.Pod:
    meta = {"name": f"j-worker-{index}", "uid": f"0123456{index}-uid", "annotations": annotations or {}}
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ready}],
        "containerStatuses": [{"name": "main", "restartCount": restarts}],
    }
    return msgspec.convert({"metadata": meta, "status": status}, objects.Pod)


def leaving(index: int, deleted: str) -> objects.Pod:
    found = worker(index)
    meta = msgspec.structs.replace(found.metadata, deletion_timestamp=dt.datetime.fromisoformat(deleted))
    return msgspec.structs.replace(found, metadata=meta)


def launcher() -> objects.Pod:
    state = {"running": {"startedAt": START}}
    status = {"phase": "Running", "containerStatuses": [{"name": "main", "state": state}]}
    return msgspec.convert({"metadata": {"name": "j-launcher"}, "status": status}, objects.Pod)


def exec_files(manifest: Manifest, *pods: objects.Pod) -> dict[str, str]:
    return files.exec_files(defaulted(manifest)[1], Observed(pods=pods))


def listed(manifest: Manifest, *pods: objects.Pod) -> list[str]:
    """The output of the script."""
    script = exec_files(manifest, *pods)["discover_hosts.sh"]
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True).stdout.split()


def test_workers_of_the_first_hour_are_listed_by_the_names_of_their_pods() -> None:
    assert listed(job(), launcher(), worker(0), worker(1)) == ["j-worker-0:1", "j-worker-1:1"]


def test_a_worker_that_was_restarted_in_its_pod_gets_an_alias() -> None:
    first = listed(job(), worker(0), worker(1, restarts=1))[1]
    second = listed(job(), worker(0), worker(1, restarts=2))[1]
    assert first.startswith("j-worker-1.again-")
    assert len({"j-worker-1:1", first, second}) == 3


def test_a_worker_whose_pod_was_recreated_gets_an_alias() -> None:
    mark = {"traincrew.kubeflow.org/returned": "1"}
    assert listed(job(), worker(0), worker(1, annotations=mark))[1] == "j-worker-1.again-01234561-0:1"


def test_kubexec_resolves_every_alias_to_the_same_pod() -> None:
    script = exec_files(job())["kubexec.sh"].replace("/opt/kube/kubectl", "echo")
    for name in ("j-worker-1", "j-worker-1.again-01234561-2"):
        ran = subprocess.run(["/bin/sh", "-c", script, "sh", name, "true"], capture_output=True, text=True, check=True)
        assert ran.stdout.split()[:2] == ["exec", "j-worker-1"]


def test_jobs_that_are_not_elastic_keep_plain_names() -> None:
    fixed = job(command=["mpirun", "train"])
    assert listed(fixed, launcher(), worker(0), worker(1, ready=LATE, restarts=1)) == ["j-worker-0:1", "j-worker-1:1"]
    assert "POD_NAME=$1\n" in exec_files(fixed)["kubexec.sh"]


def test_after_a_late_worker_the_list_changes_by_an_alias_without_slots() -> None:
    found = listed(job(), launcher(), worker(0), worker(1), worker(2, ready=LATE))
    assert found[:3] == ["j-worker-0:1", "j-worker-1:1", "j-worker-2:1"]
    assert found[3] in ("j-worker-0.again-even:0", "j-worker-0.again-odd:0")


def test_workers_that_horovod_waits_for_are_not_late() -> None:
    assert len(listed(job(2), launcher(), worker(0), worker(1, ready=LATE))) == 2


def test_who_comes_back_is_always_late() -> None:
    assert len(listed(job(2), launcher(), worker(0), worker(1, restarts=1))) == 3


def test_no_worker_is_late_while_no_launcher_runs() -> None:
    assert len(listed(job(), worker(0), worker(1), worker(2, ready=LATE))) == 3


AT_LEAST_TWO = ["2" if word == "1" else word for word in COMMAND]


@pytest.mark.parametrize(
    ("command", "pods", "names"),
    [
        pytest.param(COMMAND, (worker(0), leaving(1, EARLY), leaving(2, EARLY)), [0], id="enough without those that leave"),
        pytest.param(AT_LEAST_TWO, (worker(0), worker(1), leaving(2, EARLY)), [0, 1], id="exactly enough"),
        pytest.param(
            AT_LEAST_TWO, (worker(0), leaving(1, EARLY), leaving(2, LATE)), [0, 2], id="one stays, the last one deleted"
        ),
        pytest.param(AT_LEAST_TWO, (worker(0), leaving(1, EARLY), leaving(2, EARLY)), [0, 2], id="deleted at the same time"),
        pytest.param(AT_LEAST_TWO, (leaving(0, EARLY), leaving(1, EARLY)), [1, 0], id="nobody stays"),
        pytest.param(
            AT_LEAST_TWO, (worker(0), leaving(1, EARLY), worker(3)), [0, 3], id="one that the job does not have any more"
        ),
    ],
)
def test_workers_that_leave_stay_listed_while_horovod_has_fewer_than_its_minimum(
    command: list[str], pods: tuple[objects.Pod, ...], names: list[int]
) -> None:
    """Below its minimum Horovod forms no ring, so nobody could leave in order."""
    assert listed(job(3, command), launcher(), *pods) == [f"j-worker-{index}:1" for index in names]


def test_without_a_launcher_nobody_who_leaves_is_listed() -> None:
    assert listed(job(2, AT_LEAST_TWO), worker(0), leaving(1, EARLY)) == ["j-worker-0:1"]


def test_how_many_workers_a_launch_begins_with_is_in_its_command() -> None:
    def begins(*words: str) -> int:
        return horovodrun.initial_workers(defaulted(job(command=["horovodrun", *words, "--host-discovery-script", "x"]))[1])

    assert (begins("-np", "3", "--min-np", "2"), begins("--min-num-proc=2"), begins()) == (3, 2, 1)


def test_a_dns_alias_is_the_same_name() -> None:
    host = "j-worker-1.j.default.svc"
    found = {host_discovery.dns_alias(host, f"0123-{restarts}") for restarts in range(8)}
    assert len(found) == 8
    assert {spelling.lower() for spelling in found} == {host}


def test_v2beta1_lists_returned_workers_by_an_alias() -> None:
    made = job()
    made["apiVersion"], made["spec"]["sshAuthMountPath"] = "kubeflow.org/v2beta1", "/root/.ssh"
    seen = Observed(pods=(launcher(), worker(0), worker(1, restarts=1)))
    lines = files.ssh_files(defaulted(made)[1], seen)["discover_hosts.sh"].splitlines()
    assert lines[1] == "echo j-worker-0.j.n.svc"
    assert lines[2].lower() == "echo j-worker-1.j.n.svc" != lines[2]
    assert ":0" in lines[3]
