"""MPIJob v1: its pods, the files that its launcher reads, and its workers."""

from __future__ import annotations

import pytest
from tests.cluster import mpi
from tests.cluster.api import Api, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import PREFIX, Submit

KUBEXEC = """#!/bin/sh
POD_NAME=$1
shift
/opt/kube/kubectl exec ${POD_NAME} -- /bin/sh -c "$*\""""


@pytest.mark.checklist(109)
def test_a_job_has_a_launcher_without_index_and_workers_and_no_service(submit: Submit, api: Api, namespace: str) -> None:
    submit(mpi.job(2))
    eventually(lambda: api.names("pods", namespace) == {"j-launcher", "j-worker-0", "j-worker-1"})
    consistently(lambda: api.names("services", namespace) == set() and len(api.names("pods", namespace)) == 3, 0.5)


@pytest.mark.checklist(110, 111, 112)
def test_the_config_map_has_three_files_byte_for_byte(submit: Submit, api: Api, namespace: str) -> None:
    job = submit(mpi.job(2))
    found = mpi.there(api, "configmaps", namespace, "j-config")
    assert found["metadata"]["labels"]["app"] == "j"
    assert mpi.owned_by(found, job)
    assert found["data"] == {
        "hostfile": "j-worker-0 slots=1\nj-worker-1 slots=1\n",
        "kubexec.sh": KUBEXEC,
        "discover_hosts.sh": "#!/bin/sh",
    }


@pytest.mark.checklist(111, 112)
def test_slots_and_main_container_go_into_the_files(submit: Submit) -> None:
    found = mpi.files(submit(mpi.job(2, slotsPerWorker=4, mainContainer="main")))
    assert found["hostfile"] == "j-worker-0 slots=4\nj-worker-1 slots=4\n"
    assert found["kubexec.sh"] == KUBEXEC.replace("${POD_NAME} --", "${POD_NAME} --container main --")


def test_more_than_ten_workers_are_listed_in_the_order_of_their_number(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(mpi.job(11))
    assert mpi.files(job)["hostfile"] == "".join(f"j-worker-{index} slots=1\n" for index in range(11))
    kubelet.run("j-worker-10", "j-worker-2")
    eventually(lambda: mpi.discovered(job) == ["j-worker-2:1", "j-worker-10:1"])


@pytest.mark.checklist(113, 114)
def test_host_discovery_follows_the_running_workers(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(mpi.job(3, slotsPerWorker=2))
    kubelet.run("j-worker-2")
    eventually(lambda: mpi.files(job)["discover_hosts.sh"] == "#!/bin/sh\necho j-worker-2:2")
    kubelet.run("j-worker-0")
    eventually(lambda: mpi.files(job)["discover_hosts.sh"] == "#!/bin/sh\necho j-worker-0:2\necho j-worker-2:2")
    consistently(lambda: mpi.discovered(job) == ["j-worker-0:2", "j-worker-2:2"], 0.5)


def test_a_worker_on_its_way_out_is_not_discovered(submit: Submit, kubelet: FakeKubelet, api: Api, namespace: str) -> None:
    job = submit(mpi.job(2))
    kubelet.run("j-launcher", "j-worker-0", "j-worker-1")
    eventually(lambda: mpi.discovered(job) == ["j-worker-0:1", "j-worker-1:1"])
    api.delete("pods", namespace, "j-worker-0")
    eventually(lambda: mpi.discovered(job) == ["j-worker-1:1"])
    assert api.get("pods", namespace, "j-worker-0")["metadata"]["deletionTimestamp"]


def test_a_worker_that_runs_but_is_not_ready_is_not_discovered_yet(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(mpi.job(2))
    kubelet.run("j-worker-0", ready=False)
    kubelet.run("j-worker-1")
    eventually(lambda: mpi.discovered(job) == ["j-worker-1:1"])
    kubelet.run("j-worker-0")
    eventually(lambda: mpi.discovered(job) == ["j-worker-0:1", "j-worker-1:1"])


@pytest.mark.checklist(122)
def test_a_launcher_with_a_gpu_is_a_host_itself(submit: Submit, kubelet: FakeKubelet) -> None:
    body = mpi.job(1, slotsPerWorker=2)
    mpi.container(body, "Launcher")["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    job = submit(body)
    assert mpi.files(job)["hostfile"] == "j-launcher slots=2\nj-worker-0 slots=2\n"
    kubelet.run("j-worker-0")
    eventually(lambda: mpi.files(job)["discover_hosts.sh"] == "#!/bin/sh\necho j-launcher:2\n\necho j-worker-0:2")


@pytest.mark.checklist(124, 125)
def test_a_worker_sleeps_and_mounts_the_remote_shell(submit: Submit, kubelet: FakeKubelet) -> None:
    submit(mpi.job(1))
    spec = kubelet.pod("j-worker-0")["spec"]
    main = spec["containers"][0]
    assert (main["command"], main["args"]) == (["sleep"], ["365d"])
    assert {"name": "mpi-job-config", "mountPath": "/etc/mpi"} in main["volumeMounts"]
    volume = next(volume for volume in spec["volumes"] if volume["name"] == "mpi-job-config")
    assert volume["configMap"]["name"] == "j-config"
    assert volume["configMap"]["items"] == [{"key": "kubexec.sh", "path": "kubexec.sh", "mode": 0o555}]
    assert "env" not in main
    assert "initContainers" not in spec


@pytest.mark.checklist(125)
def test_arguments_without_a_command_are_replaced_by_the_sleep(submit: Submit, kubelet: FakeKubelet) -> None:
    body = mpi.job(1)
    mpi.container(body, "Worker")["args"] = ["train"]
    submit(body)
    main = kubelet.pod("j-worker-0")["spec"]["containers"][0]
    assert (main["command"], main["args"]) == (["sleep"], ["365d"])


@pytest.mark.checklist(125)
def test_a_workers_own_command_is_left_alone(submit: Submit, kubelet: FakeKubelet) -> None:
    body = mpi.job(1)
    mpi.container(body, "Worker").update(command=["/usr/sbin/sshd"], args=["-De"])
    submit(body)
    main = kubelet.pod("j-worker-0")["spec"]["containers"][0]
    assert (main["command"], main["args"]) == (["/usr/sbin/sshd"], ["-De"])


@pytest.mark.checklist(126)
def test_launcher_and_workers_carry_exactly_their_labels(submit: Submit, kubelet: FakeKubelet) -> None:
    submit(mpi.job(2))
    own = {"operator-name": "mpijob-controller", "job-name": "j"}
    launcher = {**own, "replica-type": "launcher", "job-role": "master"}
    worker = {**own, "replica-type": "worker", "replica-index": "1"}
    assert kubelet.pod("j-launcher")["metadata"]["labels"] == {PREFIX + key: value for key, value in launcher.items()}
    assert kubelet.pod("j-worker-1")["metadata"]["labels"] == {PREFIX + key: value for key, value in worker.items()}


@pytest.mark.checklist(127)
def test_without_a_number_there_are_no_workers(submit: Submit, api: Api, namespace: str) -> None:
    job = submit(mpi.job(None))
    eventually(lambda: api.names("pods", namespace) == {"j-launcher"})
    consistently(lambda: api.names("pods", namespace) == {"j-launcher"}, 0.5)
    assert mpi.files(job)["hostfile"] == ""
