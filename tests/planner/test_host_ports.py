"""Host ports of a job: they do not change from its start to its end."""

from __future__ import annotations

from typing import Any

import pytest
from tests.kinds.replicas import env
from tests.planner import manifests
from tests.planner.cluster_events import ClusterEvents
from tests.planner.simulation import Manifest, Simulation

from traincrew import settings

RANGE = (20000, 29999)


def on_hosts(kind: str, **details: Any) -> Manifest:
    job = manifests.job(kind, **details)
    for spec in job["spec"][manifests.BY_NAME[kind].replicas_field].values():
        spec["template"]["spec"]["hostNetwork"] = True
    return job


def simulation(job: Manifest, **planning: Any) -> Simulation:
    return Simulation(manifests.BY_NAME[job["kind"]], job, settings.Planning(**{"host_ports": RANGE, **planning}))


def given(simulation: Simulation) -> list[int]:
    return [port for ports in simulation.status.get("hostPorts", {}).values() for port in ports]


@pytest.mark.parametrize("kind", [kind for kind in manifests.BY_NAME if kind != "MPIJob"])
def test_every_kind_that_listens_is_given_ports(kind: str) -> None:
    roles = {"Worker": 2} if kind == "JAXJob" else {"Master": 1, "Worker": 2}
    found = simulation(on_hosts(kind, **roles))
    found.settle()
    assert set(found.status["hostPorts"]) == set(roles)
    assert len(given(found)) >= len(roles)
    assert all(RANGE[0] <= port <= RANGE[1] for port in given(found))
    main = manifests.BY_NAME[kind].pods.port
    assert main is not None
    for pod in found.of("pods"):
        (port,) = (each for each in pod["spec"]["containers"][0]["ports"] if each["name"] == main[0])
        assert port["containerPort"] == port["hostPort"]
        assert port["containerPort"] in given(found)
        service = found.get("services", pod["metadata"]["name"])
        assert [each["port"] for each in service["spec"]["ports"]] == [port["containerPort"]]


def test_without_the_setting_no_ports_are_allocated() -> None:
    found = simulation(on_hosts("JAXJob", Worker=2), host_ports=None, host_ports_for_all=True)
    found.settle()
    assert "hostPorts" not in found.status
    assert env(found.pod("j-worker-1"))["COORDINATOR_PORT"] == "6666"
    assert "dnsPolicy" not in found.pod("j-worker-1")["spec"]


def test_pods_of_the_clusters_network_are_given_some_only_if_all_are() -> None:
    for all_, expected in ((False, 0), (True, 2)):
        found = simulation(manifests.job("JAXJob", Worker=2), host_ports_for_all=all_)
        found.settle()
        assert len(given(found)) == expected
        assert "hostPort" not in found.pod("j-worker-0")["spec"]["containers"][0]["ports"][0]


def test_ports_outlive_lost_pods_restarts_of_the_operator_and_the_setting_itself() -> None:
    found = simulation(on_hosts("PyTorchJob", Master=1, Worker=2, restart="OnFailure"))
    found.settle()
    cluster, before = ClusterEvents(found), given(found)
    cluster.run_all()
    cluster.vanish("j-worker-1")
    found.restart_operator()
    found.planning = settings.Planning()
    found.settle()
    cluster.pass_time(60)
    found.settle()
    assert given(found) == before
    assert found.pod("j-worker-1")["spec"]["containers"][0]["ports"][0]["containerPort"] == before[2]
    assert env(found.pod("j-worker-1"))["MASTER_PORT"] == str(before[0])


def test_pods_that_are_there_without_ports_are_left_as_they_are() -> None:
    found = simulation(on_hosts("JAXJob", Worker=2), host_ports=None)
    found.settle()
    found.planning = settings.Planning(host_ports=RANGE)
    assert found.settle().empty
    assert "hostPorts" not in found.status


def test_a_job_that_cannot_have_all_its_ports_has_none_and_says_so() -> None:
    found = simulation(on_hosts("JAXJob", Worker=3), host_ports=(20000, 20003))
    found.used_ports = frozenset({20001, 20002})
    found.settle()
    assert (found.of("pods"), found.of("services"), given(found)) == ([], [], [])
    assert found.status["why"]["reason"] == "NoHostPorts"
    assert "3 more host ports" in found.status["why"]["message"]
    found.used_ports = frozenset({20001})
    found.settle()
    assert sorted(given(found)) == [20000, 20002, 20003]
    assert len(found.of("pods")) == 3
    assert "why" not in found.status


def test_a_worker_that_is_scaled_away_and_back_has_its_port_again() -> None:
    found = simulation(on_hosts("JAXJob", Worker=3))
    found.settle()
    before = given(found)
    for replicas in (1, 3):
        ClusterEvents(found).scale("Worker", replicas)
        found.settle()
    assert given(found) == before
    ClusterEvents(found).scale("Worker", 4)
    found.settle()
    assert given(found)[:3] == before
    assert len(set(given(found))) == 4


def test_ports_are_kept_while_a_pod_of_the_ended_job_may_listen() -> None:
    found = simulation(on_hosts("TFJob", Chief=1, PS=1, policy={"cleanPodPolicy": "None"}))
    found.settle()
    cluster = ClusterEvents(found)
    cluster.run_all()
    cluster.succeed("j-chief-0")
    found.settle()
    assert found.is_true("Succeeded")
    assert len(given(found)) == 2
    cluster.succeed("j-ps-0")
    found.settle()
    assert given(found) == []


def test_a_rendezvous_elsewhere_keeps_its_port() -> None:
    policy = {"rdzvBackend": "etcd", "rdzvHost": "etcd.infra", "rdzvPort": 2379}
    for host, own in (("etcd.infra", False), ("j-worker-0", True), ("j-worker-0.n.svc", True)):
        found = simulation(on_hosts("PyTorchJob", Worker=2, spec={"elasticPolicy": {**policy, "rdzvHost": host}}))
        found.settle()
        expected = given(found)[0] if own else 2379
        assert env(found.pod("j-worker-1"))["PET_RDZV_ENDPOINT"] == f"{host}:{expected}"


def test_the_clusters_names_are_asked_of_its_own_resolver_unless_the_template_says_otherwise() -> None:
    job = on_hosts("JAXJob", Worker=1)
    for said, expected in ((None, "ClusterFirstWithHostNet"), ("Default", "Default")):
        if said:
            job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["dnsPolicy"] = said
        found = simulation(job)
        found.settle()
        assert found.pod("j-worker-0")["spec"]["dnsPolicy"] == expected
