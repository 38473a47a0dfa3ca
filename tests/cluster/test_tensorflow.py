"""TFJob: what each replica is told of the others, and how the job's state follows from its pods."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cluster import manifests, operators, spare
from tests.cluster.api import Object, eventually, steadily
from tests.cluster.kubelet import Kubelet
from tests.cluster.submitted import Submit, Submitted, env, labels


def tfjob(policy: str | None = None, spec: Object | None = None, run: Object | None = None, **counts: int) -> Object:
    roles: Object = {role: manifests.replicas("TFJob", count, policy) for role, count in counts.items()}
    return manifests.job("TFJob", spec=spec, run=run, **roles)


def dynamic(**counts: Any) -> Object:
    return tfjob(spec={"enableDynamicWorker": True}, policy="Never", **counts)


def one(role: str) -> Object:
    return {role: 1}


def config_text(pod: Object) -> str:
    return env(pod)["TF_CONFIG"] or ""


def config(pod: Object) -> Any:
    return json.loads(config_text(pod))


def uid(kubelet: Kubelet, name: str) -> str:
    return str(kubelet.pod(name)["metadata"]["uid"])


# What the replicas are told


@pytest.mark.contract(56)
def test_a_worker_is_told_of_all_others_and_of_its_own_place(submit: Submit, kubelet: Kubelet) -> None:
    submit(tfjob(PS=1, Worker=2))

    found = config(kubelet.pod("j-worker-1"))

    assert len(found["cluster"]["ps"]) == 1
    assert len(found["cluster"]["worker"]) == 2
    assert found["task"] == {"type": "worker", "index": 1}
    assert found["environment"] == "cloud"


@pytest.mark.contract(57)
def test_addresses_are_names_of_services(submit: Submit, kubelet: Kubelet, namespace: str) -> None:
    submit(tfjob(PS=1, Worker=2))

    found = config(kubelet.pod("j-ps-0"))["cluster"]

    assert found["worker"] == [f"j-worker-0.{namespace}.svc:2222", f"j-worker-1.{namespace}.svc:2222"]
    assert found["ps"] == [f"j-ps-0.{namespace}.svc:2222"]


@pytest.mark.contract(57)
def test_addresses_end_in_the_cluster_domain_that_the_operator_is_given(place: spare.Place) -> None:
    env = {"CUSTOM_CLUSTER_DOMAIN": "cluster.local"}
    with operators.running(place.operator_kubeconfig, "--namespace", place.namespace, env=env):
        place.submit(tfjob(Worker=2))

        found = config(place.kubelet.pod("j-worker-0"))["cluster"]

    assert found == {"worker": [f"j-worker-{index}.{place.namespace}.svc.cluster.local:2222" for index in (0, 1)]}


@pytest.mark.contract(58)
def test_the_text_is_the_same_to_the_byte_as_ever(submit: Submit, kubelet: Kubelet, namespace: str) -> None:
    submit(tfjob(Worker=1, PS=1, Evaluator=1, Chief=1))

    found = config_text(kubelet.pod("j-worker-0"))

    addresses = ",".join(f'"{role}":["j-{role}-0.{namespace}.svc:2222"]' for role in ("chief", "evaluator", "ps", "worker"))
    assert found == f'{{"cluster":{{{addresses}}},"task":{{"type":"worker","index":0}},"environment":"cloud"}}'


@pytest.mark.parametrize("role", ["Worker", "Chief"])
@pytest.mark.contract(59)
def test_a_single_replica_is_told_nothing(submit: Submit, kubelet: Kubelet, role: str) -> None:
    submit(tfjob(**one(role)))

    assert "TF_CONFIG" not in env(kubelet.pod(f"j-{role.lower()}-0"))


@pytest.mark.contract(60)
def test_only_the_training_container_is_told(submit: Submit, kubelet: Kubelet) -> None:
    body = tfjob(Worker=2)
    template = body["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    template["containers"].insert(0, {"name": "before", "image": "i"})
    template["containers"].append({"name": "after", "image": "i"})
    template["initContainers"] = [{"name": "first", "image": "i"}]

    submit(body)

    spec = kubelet.pod("j-worker-0")["spec"]
    told = {each["name"]: [v["name"] for v in each.get("env") or []] for each in spec["containers"] + spec["initContainers"]}
    assert told == {"before": [], "tensorflow": ["TF_CONFIG"], "after": [], "first": []}


@pytest.mark.contract(61)
def test_the_evaluator_is_part_of_the_cluster(submit: Submit, kubelet: Kubelet, namespace: str) -> None:
    submit(tfjob(Evaluator=1, Worker=1))

    assert config(kubelet.pod("j-worker-0"))["cluster"]["evaluator"] == [f"j-evaluator-0.{namespace}.svc:2222"]
    assert config(kubelet.pod("j-evaluator-0"))["task"] == {"type": "evaluator", "index": 0}


@pytest.mark.parametrize(("role", "other"), [("Chief", "master"), ("Master", "chief")])
@pytest.mark.contract(62)
def test_chief_and_master_go_by_their_own_names(submit: Submit, kubelet: Kubelet, role: str, other: str) -> None:
    submit(tfjob(Worker=1, **one(role)))

    found = config(kubelet.pod("j-worker-0"))["cluster"]

    assert role.lower() in found
    assert other not in found


@pytest.mark.contract(63)
def test_a_dynamic_worker_knows_itself_and_the_servers(submit: Submit, kubelet: Kubelet, namespace: str) -> None:
    submit(dynamic(PS=2, Worker=2))

    found = config(kubelet.pod("j-worker-1"))

    servers = [f"j-ps-{index}.{namespace}.svc:2222" for index in (0, 1)]
    assert found == {
        "cluster": {"worker": {"1": f"j-worker-1.{namespace}.svc:2222"}, "ps": servers},
        "task": {"type": "worker", "index": 1},
    }


@pytest.mark.contract(64)
def test_a_server_of_dynamic_workers_knows_itself_alone(submit: Submit, kubelet: Kubelet, namespace: str) -> None:
    submit(dynamic(PS=2, Worker=2))

    assert config(kubelet.pod("j-ps-0"))["cluster"] == {"worker": {}, "ps": [f"j-ps-0.{namespace}.svc:2222"]}


@pytest.mark.parametrize("role", ["Chief", "Master"])
@pytest.mark.contract(65)
def test_the_chief_is_marked_as_master_and_no_worker_is(submit: Submit, role: str) -> None:
    job = submit(tfjob(Worker=2, **one(role)))
    eventually(lambda: len(job.pods()) == 3)

    assert _masters(job) == {f"j-{role.lower()}-0": "master"}


@pytest.mark.contract(66)
def test_without_a_chief_the_first_worker_is_marked(submit: Submit) -> None:
    job = submit(tfjob(PS=1, Worker=2))
    eventually(lambda: len(job.pods()) == 3)

    assert _masters(job) == {"j-worker-0": "master"}


def _masters(job: Submitted) -> dict[str, str]:
    return {name: labels(pod)["job-role"] for name, pod in job.pods().items() if "job-role" in labels(pod)}


# How its state follows from the pods


@pytest.mark.contract(67)
def test_the_first_workers_success_is_the_jobs(submit: Submit, kubelet: Kubelet) -> None:
    job = submit(tfjob(Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    job.becomes("Running")

    kubelet.succeed("j-worker-0")

    job.becomes("Succeeded")


@pytest.mark.contract(67)
def test_another_workers_success_is_not(submit: Submit, kubelet: Kubelet) -> None:
    job = submit(tfjob(Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    kubelet.succeed("j-worker-1")
    eventually(lambda: job.counts("Worker") == {"active": 1, "succeeded": 1, "failed": 0})

    steadily(lambda: job.states() == {"Created": "True", "Running": "True"}, 0.3)


@pytest.mark.contract(68)
def test_under_all_workers_every_one_must_succeed(submit: Submit, kubelet: Kubelet) -> None:
    job = submit(tfjob(spec={"successPolicy": "AllWorkers"}, Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    kubelet.succeed("j-worker-0")
    eventually(lambda: job.counts("Worker") == {"active": 1, "succeeded": 1, "failed": 0})
    steadily(lambda: job.states() == {"Created": "True", "Running": "True"}, 0.3)

    kubelet.succeed("j-worker-1")

    job.becomes("Succeeded")


@pytest.mark.parametrize("role", ["Chief", "Master"])
@pytest.mark.contract(69)
def test_the_chiefs_success_is_the_jobs(submit: Submit, kubelet: Kubelet, role: str) -> None:
    job = submit(tfjob(Worker=2, **one(role)))
    kubelet.run(f"j-{role.lower()}-0", "j-worker-0", "j-worker-1")
    job.becomes("Running")

    kubelet.succeed(f"j-{role.lower()}-0")

    job.becomes("Succeeded")


@pytest.mark.contract(69)
def test_with_a_chief_the_workers_success_does_not_count(submit: Submit, kubelet: Kubelet) -> None:
    job = submit(tfjob(Chief=1, Worker=2))
    kubelet.run("j-chief-0", "j-worker-0", "j-worker-1")
    kubelet.succeed("j-worker-0", "j-worker-1")
    eventually(lambda: job.counts("Worker")["succeeded"] == 2)

    steadily(lambda: job.states() == {"Created": "True", "Running": "True"}, 0.3)


@pytest.mark.contract(70)
def test_the_job_runs_when_the_chief_does(submit: Submit, kubelet: Kubelet) -> None:
    job = submit(tfjob(Chief=1, Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    eventually(lambda: job.counts("Worker")["active"] == 2)
    steadily(lambda: job.states() == {"Created": "True"}, 0.3)

    kubelet.run("j-chief-0")

    job.becomes("Running")


@pytest.mark.contract(71)
def test_a_failed_worker_that_is_never_restarted_fails_the_job(submit: Submit, kubelet: Kubelet, namespace: str) -> None:
    job = submit(tfjob("Never", Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")

    kubelet.fail("j-worker-1")

    found = job.becomes("Failed")
    assert found["reason"] == "TFJobFailed"
    assert found["message"] == f"TFJob {namespace}/j has failed because 1 Worker replica(s) failed."
    assert "completionTime" in job.status


@pytest.mark.parametrize("role", ["PS", "Worker", "Evaluator"])
@pytest.mark.contract(72)
def test_a_failed_helper_fails_the_job_while_the_chief_runs(submit: Submit, kubelet: Kubelet, namespace: str, role: str) -> None:
    job = submit(tfjob("Never", Chief=1, PS=1, Worker=1, Evaluator=1))
    kubelet.run("j-chief-0", "j-ps-0", "j-worker-0", "j-evaluator-0")
    job.becomes("Running")

    kubelet.fail(f"j-{role.lower()}-0")

    assert job.becomes("Failed")["message"] == f"TFJob {namespace}/j has failed because 1 {role} replica(s) failed."
    assert job.counts("Chief")["active"] == 1


@pytest.mark.contract(73)
def test_a_failed_dynamic_worker_leaves_the_job_alone(submit: Submit, kubelet: Kubelet) -> None:
    job = submit(dynamic(PS=1, Worker=2))
    kubelet.run("j-ps-0", "j-worker-0", "j-worker-1")
    job.becomes("Running")

    kubelet.fail("j-worker-1")

    eventually(lambda: job.counts("Worker") == {"active": 1, "succeeded": 0, "failed": 1})
    steadily(lambda: job.states() == {"Created": "True", "Running": "True"}, 0.3)
    kubelet.fail("j-ps-0")
    job.becomes("Failed")


@pytest.mark.contract(74)
def test_exit_codes_from_128_on_restart_a_worker(submit: Submit, kubelet: Kubelet) -> None:
    job = submit(tfjob("ExitCode", Worker=1))
    kubelet.run("j-worker-0")
    job.becomes("Running")
    before = uid(kubelet, "j-worker-0")

    kubelet.fail("j-worker-0", code=137)

    assert job.becomes("Restarting")["reason"] == "TFJobRestarting"
    assert job.condition("Restarting")["message"] == "job j is restarting because Worker replica(s) failed."
    assert job.states() == {"Created": "True", "Restarting": "True"}
    eventually(lambda: uid(kubelet, "j-worker-0") != before)
    kubelet.run("j-worker-0")
    eventually(lambda: job.states() == {"Created": "True", "Running": "True"})


@pytest.mark.parametrize("code", [1, 127])
@pytest.mark.contract(75)
def test_lower_exit_codes_fail_the_job_and_the_pod_stays(submit: Submit, kubelet: Kubelet, code: int) -> None:
    job = submit(tfjob("ExitCode", run={"cleanPodPolicy": "None"}, Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    before = uid(kubelet, "j-worker-1")

    kubelet.fail("j-worker-1", code=code)

    assert job.becomes("Failed")["message"] == 'job "j" is failing because "Worker" replica(s) failed.'
    steadily(lambda: uid(kubelet, "j-worker-1") == before, 0.3)
    assert kubelet.pod("j-worker-1")["status"]["phase"] == "Failed"


@pytest.mark.contract(76)
def test_a_pod_that_left_no_exit_code_is_restarted(submit: Submit, kubelet: Kubelet) -> None:
    job = submit(tfjob("ExitCode", Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    before = uid(kubelet, "j-worker-1")

    kubelet.fail_without_status("j-worker-1")

    eventually(lambda: uid(kubelet, "j-worker-1") != before)
    assert not job.is_true("Failed")


@pytest.mark.contract(77)
def test_the_conditions_of_a_success_are_in_the_order_that_clients_know(submit: Submit, kubelet: Kubelet) -> None:
    job = submit(tfjob(Chief=1, Worker=1))
    kubelet.run("j-chief-0", "j-worker-0")
    job.becomes("Running")

    kubelet.succeed("j-chief-0")

    job.becomes("Succeeded")
    assert [(entry["type"], entry["reason"], entry["status"]) for entry in job.conditions] == [
        ("Created", "TFJobCreated", "True"),
        ("Running", "TFJobRunning", "False"),
        ("Succeeded", "TFJobSucceeded", "True"),
    ]
    assert job.status["completionTime"] == job.condition("Succeeded")["lastTransitionTime"]


@pytest.mark.contract(78)
def test_the_messages_of_the_conditions_are_as_ever(submit: Submit, kubelet: Kubelet, namespace: str) -> None:
    job = submit(tfjob(Worker=1))
    kubelet.run("j-worker-0")
    job.becomes("Running")
    kubelet.succeed("j-worker-0")
    job.becomes("Succeeded")

    assert {entry["type"]: entry["message"] for entry in job.conditions} == {
        "Created": "TFJob j is created.",
        "Running": f"TFJob {namespace}/j is running.",
        "Succeeded": f"TFJob {namespace}/j successfully completed.",
    }


@pytest.mark.contract(79)
def test_after_the_end_counts_stay_as_reached_and_active_follows_the_pods(submit: Submit, kubelet: Kubelet) -> None:
    job = submit(tfjob(Worker=3))
    kubelet.run("j-worker-0", "j-worker-1", "j-worker-2")

    kubelet.succeed("j-worker-0")

    job.becomes("Succeeded")
    assert job.counts("Worker") == {"active": 2, "succeeded": 1, "failed": 0}
    kubelet.succeed("j-worker-1")
    eventually(lambda: job.counts("Worker") == {"active": 1, "succeeded": 1, "failed": 0})
    kubelet.fail("j-worker-2")
    eventually(lambda: job.counts("Worker") == {"active": 0, "succeeded": 1, "failed": 0})
    assert "active" not in job.status["replicaStatuses"]["Worker"]


@pytest.mark.contract(80)
def test_by_default_all_pods_stay_after_success(submit: Submit, kubelet: Kubelet) -> None:
    job = submit(tfjob(Chief=1, PS=1, Worker=2))
    kubelet.run("j-chief-0", "j-ps-0", "j-worker-0", "j-worker-1")
    kubelet.succeed("j-chief-0")
    job.becomes("Succeeded")

    steadily(lambda: all("deletionTimestamp" not in pod["metadata"] for pod in job.pods().values()) and len(job.pods()) == 4, 0.5)

    assert len(job.services()) == 4
