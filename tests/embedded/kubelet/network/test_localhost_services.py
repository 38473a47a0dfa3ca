"""Names of Services in variables, where every pod is on this host."""

from __future__ import annotations

import json
from typing import Any

import pytest

from traincrew.embedded.kubelet.network.dns_zone import build_zone
from traincrew.embedded.kubelet.network.localhost_services import (
    container_on_localhost,
    point_to_localhost,
    ready_endpoint_slices,
    services_on_localhost,
)

SERVICES = [
    {"metadata": {"name": "job-master-0", "namespace": "team"}, "spec": {}},
    {"metadata": {"name": "job-master-0-x", "namespace": "team"}, "spec": {}},
    {"metadata": {"name": "worker", "namespace": "team"}, "spec": {}},
    {"metadata": {"name": "store", "namespace": "other"}, "spec": {}},
    {"metadata": {"name": "outside", "namespace": "team"}, "spec": {"type": "ExternalName"}},
]


def _one(value: str) -> str:
    return point_to_localhost({"X": value}, SERVICES, "team")["X"]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("job-master-0", "127.0.0.1"),
        ("job-master-0:23456", "127.0.0.1:23456"),
        ("job-master-0.team", "127.0.0.1"),
        ("job-master-0.team.svc", "127.0.0.1"),
        ("job-master-0.team.svc.cluster.local:80", "127.0.0.1:80"),
        ("Job-Master-0.team.svc.cluster.local.", "127.0.0.1"),
        ("http://job-master-0/path?x=store", "http://127.0.0.1/path?x=store"),
        ("tcp://user@job-master-0:1,tcp://worker:2", "tcp://user@127.0.0.1:1,tcp://127.0.0.1:2"),
        ("job-master-0-x:1 job-master-0:2", "127.0.0.1:1 127.0.0.1:2"),
        ("worker-3.worker", "127.0.0.1"),
        ("worker-3.worker.team.svc:1", "127.0.0.1:1"),
        ("--addr=job-master-0", "--addr=127.0.0.1"),
        ("store.other.svc:80", "127.0.0.1:80"),
    ],
)
def test_a_services_name_becomes_this_host(value: str, wanted: str) -> None:
    assert _one(value) == wanted


@pytest.mark.parametrize(
    "value",
    [
        "",
        "store",
        "store:80",
        "/data/job-master-0",
        "/data/worker/x",
        "worker/x",
        "my-job-master-0:1",
        "job-master-0-y",
        "job-master-0.example.com",
        "job-master-0.team.svc.example.com",
        "co-worker",
        "workers:1",
        "outside:1",
        "outside.team.svc",
        "worker_1",
    ],
)
def test_other_words_stay(value: str) -> None:
    assert _one(value) == value


def test_roles_and_keys_of_a_tensorflow_cluster_stay_while_its_hosts_move() -> None:
    config = {"cluster": {"worker": ["worker:2222", "job-master-0.team.svc:2222"]}, "task": {"type": "worker", "index": 0}}
    wanted = {"cluster": {"worker": ["127.0.0.1:2222", "127.0.0.1:2222"]}, "task": {"type": "worker", "index": 0}}
    assert json.loads(_one(json.dumps(config))) == wanted


def test_without_services_nothing_moves() -> None:
    assert point_to_localhost({"A": "worker:1"}, [], "team") == {"A": "worker:1"}


def test_of_a_container_what_is_written_moves_and_what_comes_from_elsewhere_stays() -> None:
    reference = {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    written = {"name": "c", "env": [{"name": "A", "value": "worker:1"}, reference, {"name": "EMPTY"}]}
    assert container_on_localhost(written, SERVICES, "team") == {
        "name": "c", "env": [{"name": "A", "value": "127.0.0.1:1"}, reference, {"name": "EMPTY"}],
    }  # fmt: skip
    assert written["env"][0] == {"name": "A", "value": "worker:1"}


def test_cluster_ips_are_this_host_and_the_ports_those_of_pods() -> None:
    def service(name: str, namespace: str, address: str, **port: Any) -> dict[str, Any]:
        spec = {"clusterIP": address, "ports": [{"port": 80, **port}]}
        return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}

    found = services_on_localhost(
        [
            service("web", "team", "10.96.0.5", targetPort=8080),
            service("named", "team", "10.96.0.6", targetPort="http"),
            service("headless", "team", "None"),
            service("kubernetes", "default", "10.96.0.1", targetPort=6443),
        ],
        ("192.0.2.1", 41234),
    )
    message = [(each["spec"]["clusterIP"], each["spec"]["ports"][0]["port"]) for each in found]
    assert message == [("127.0.0.1", 8080), ("127.0.0.1", 80), ("None", 80), ("192.0.2.1", 41234)]


def _pod(name: str, ready: bool, namespace: str = "team", **meta: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name}, **meta}
    return {"metadata": metadata, "spec": {"hostname": name, "subdomain": name}, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("pod", "there"),
    [
        (_pod("m", True), True),
        (_pod("m", False), False),
        (_pod("m", True, "other"), False),
        (_pod("x", True), False),
        (_pod("m", True, deletionTimestamp="2030-01-01T00:00:00Z"), False),
    ],
)
def test_a_name_is_there_once_a_pod_behind_it_is_ready(pod: dict[str, Any], there: bool) -> None:
    service = {"metadata": {"name": "m", "namespace": "team"}, "spec": {"clusterIP": "None", "selector": {"app": "m"}}}
    names = build_zone([service], ready_endpoint_slices([service], [pod]), ()).names
    for name in ("m.team.svc.cluster.local", "m.m.team.svc.cluster.local"):
        assert names.get(name, {}).get("A") == (["127.0.0.1"] if there else None)
