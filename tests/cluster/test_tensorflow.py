"""TFJob: the TF_CONFIG of each replica."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cluster import operators
from tests.cluster.api import Object, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.submitted_job import Submit, SubmittedJob, env, labels
from tests.cluster.tfjobs import dynamic, one, tfjob


def config_text(pod: Object) -> str:
    return env(pod)["TF_CONFIG"] or ""


def config(pod: Object) -> Any:
    return json.loads(config_text(pod))


@pytest.mark.checklist(56)
def test_tf_config_lists_all_replicas_and_the_task(submit: Submit, kubelet: FakeKubelet) -> None:
    submit(tfjob(PS=1, Worker=2))

    found = config(kubelet.pod("j-worker-1"))

    assert len(found["cluster"]["ps"]) == 1
    assert len(found["cluster"]["worker"]) == 2
    assert found["task"] == {"type": "worker", "index": 1}
    assert found["environment"] == "cloud"


@pytest.mark.checklist(57)
def test_addresses_are_names_of_services(submit: Submit, kubelet: FakeKubelet, namespace: str) -> None:
    submit(tfjob(PS=1, Worker=2))

    found = config(kubelet.pod("j-ps-0"))["cluster"]

    assert found["worker"] == [f"j-worker-0.{namespace}.svc:2222", f"j-worker-1.{namespace}.svc:2222"]
    assert found["ps"] == [f"j-ps-0.{namespace}.svc:2222"]


@pytest.mark.checklist(57)
def test_addresses_end_in_the_cluster_domain_that_the_operator_is_given(isolated: IsolatedNamespace) -> None:
    env = {"CUSTOM_CLUSTER_DOMAIN": "cluster.local"}
    with operators.running(isolated.operator_kubeconfig, "--namespace", isolated.namespace, env=env):
        isolated.submit(tfjob(Worker=2))

        found = config(isolated.kubelet.pod("j-worker-0"))["cluster"]

    assert found == {"worker": [f"j-worker-{index}.{isolated.namespace}.svc.cluster.local:2222" for index in (0, 1)]}


@pytest.mark.checklist(58)
def test_the_text_is_the_same_to_the_byte_as_ever(submit: Submit, kubelet: FakeKubelet, namespace: str) -> None:
    submit(tfjob(Worker=1, PS=1, Evaluator=1, Chief=1))

    found = config_text(kubelet.pod("j-worker-0"))

    addresses = ",".join(f'"{role}":["j-{role}-0.{namespace}.svc:2222"]' for role in ("chief", "evaluator", "ps", "worker"))
    assert found == f'{{"cluster":{{{addresses}}},"task":{{"type":"worker","index":0}},"environment":"cloud"}}'


@pytest.mark.parametrize("role", ["Worker", "Chief"])
@pytest.mark.checklist(59)
def test_a_single_replica_gets_no_tf_config(submit: Submit, kubelet: FakeKubelet, role: str) -> None:
    submit(tfjob(**one(role)))

    assert "TF_CONFIG" not in env(kubelet.pod(f"j-{role.lower()}-0"))


@pytest.mark.checklist(60)
def test_only_the_training_container_gets_tf_config(submit: Submit, kubelet: FakeKubelet) -> None:
    body = tfjob(Worker=2)
    template = body["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    template["containers"].insert(0, {"name": "before", "image": "i"})
    template["containers"].append({"name": "after", "image": "i"})
    template["initContainers"] = [{"name": "first", "image": "i"}]

    submit(body)

    spec = kubelet.pod("j-worker-0")["spec"]
    env_names = {each["name"]: [v["name"] for v in each.get("env") or []] for each in spec["containers"] + spec["initContainers"]}
    assert env_names == {"before": [], "tensorflow": ["TF_CONFIG"], "after": [], "first": []}


@pytest.mark.checklist(61)
def test_the_evaluator_is_part_of_the_cluster(submit: Submit, kubelet: FakeKubelet, namespace: str) -> None:
    submit(tfjob(Evaluator=1, Worker=1))

    assert config(kubelet.pod("j-worker-0"))["cluster"]["evaluator"] == [f"j-evaluator-0.{namespace}.svc:2222"]
    assert config(kubelet.pod("j-evaluator-0"))["task"] == {"type": "evaluator", "index": 0}


@pytest.mark.parametrize(("role", "other"), [("Chief", "master"), ("Master", "chief")])
@pytest.mark.checklist(62)
def test_chief_and_master_go_by_their_own_names(submit: Submit, kubelet: FakeKubelet, role: str, other: str) -> None:
    submit(tfjob(Worker=1, **one(role)))

    found = config(kubelet.pod("j-worker-0"))["cluster"]

    assert role.lower() in found
    assert other not in found


@pytest.mark.checklist(63)
def test_a_dynamic_worker_knows_itself_and_the_servers(submit: Submit, kubelet: FakeKubelet, namespace: str) -> None:
    submit(dynamic(PS=2, Worker=2))

    found = config(kubelet.pod("j-worker-1"))

    servers = [f"j-ps-{index}.{namespace}.svc:2222" for index in (0, 1)]
    assert found == {
        "cluster": {"worker": {"1": f"j-worker-1.{namespace}.svc:2222"}, "ps": servers},
        "task": {"type": "worker", "index": 1},
    }


@pytest.mark.checklist(64)
def test_a_server_of_dynamic_workers_knows_itself_alone(submit: Submit, kubelet: FakeKubelet, namespace: str) -> None:
    submit(dynamic(PS=2, Worker=2))

    assert config(kubelet.pod("j-ps-0"))["cluster"] == {"worker": {}, "ps": [f"j-ps-0.{namespace}.svc:2222"]}


@pytest.mark.parametrize("role", ["Chief", "Master"])
@pytest.mark.checklist(65)
def test_the_chief_is_marked_as_master_and_no_worker_is(submit: Submit, role: str) -> None:
    job = submit(tfjob(Worker=2, **one(role)))
    eventually(lambda: len(job.pods()) == 3)

    assert _masters(job) == {f"j-{role.lower()}-0": "master"}


@pytest.mark.checklist(66)
def test_without_a_chief_the_first_worker_is_marked(submit: Submit) -> None:
    job = submit(tfjob(PS=1, Worker=2))
    eventually(lambda: len(job.pods()) == 3)

    assert _masters(job) == {"j-worker-0": "master"}


def _masters(job: SubmittedJob) -> dict[str, str]:
    return {name: labels(pod)["job-role"] for name, pod in job.pods().items() if "job-role" in labels(pod)}
