"""Names of Services in variables, at isolation level none."""

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


def _rewrite(value: str) -> str:
    return point_to_localhost({"X": value}, SERVICES, "team")["X"]


@pytest.mark.parametrize(
    ("value", "expected"),
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
def test_the_name_of_a_service_becomes_localhost(value: str, expected: str) -> None:
    assert _rewrite(value) == expected


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
def test_other_words_are_unchanged(value: str) -> None:
    assert _rewrite(value) == value


def test_hosts_in_tf_config_are_replaced_and_roles_and_keys_are_not() -> None:
    config = {"cluster": {"worker": ["worker:2222", "job-master-0.team.svc:2222"]}, "task": {"type": "worker", "index": 0}}
    expected = {"cluster": {"worker": ["127.0.0.1:2222", "127.0.0.1:2222"]}, "task": {"type": "worker", "index": 0}}
    assert json.loads(_rewrite(json.dumps(config))) == expected


def test_without_services_nothing_is_replaced() -> None:
    assert point_to_localhost({"A": "worker:1"}, [], "team") == {"A": "worker:1"}


def test_only_literal_variables_of_a_container_are_replaced() -> None:
    reference = {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    written = {"name": "c", "env": [{"name": "A", "value": "worker:1"}, reference, {"name": "EMPTY"}]}
    assert container_on_localhost(written, SERVICES, "team") == {
        "name": "c", "env": [{"name": "A", "value": "127.0.0.1:1"}, reference, {"name": "EMPTY"}],
    }  # fmt: skip
    assert written["env"][0] == {"name": "A", "value": "worker:1"}


def test_service_variables_name_localhost_and_the_ports_of_pods() -> None:
    def service(name: str, namespace: str, address: str, **port: Any) -> dict[str, Any]:
        spec = {"clusterIP": address, "ports": [{"port": 80, **port}]}
        return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}

    services = services_on_localhost(
        [
            service("web", "team", "10.96.0.5", targetPort=8080),
            service("named", "team", "10.96.0.6", targetPort="http"),
            service("headless", "team", "None"),
            service("kubernetes", "default", "10.96.0.1", targetPort=6443),
        ],
        ("192.0.2.1", 41234),
    )
    endpoints = [(each["spec"]["clusterIP"], each["spec"]["ports"][0]["port"]) for each in services]
    assert endpoints == [("127.0.0.1", 8080), ("127.0.0.1", 80), ("None", 80), ("192.0.2.1", 41234)]


def _pod(name: str, ready: bool, namespace: str = "team", **meta: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name}, **meta}
    return {"metadata": metadata, "spec": {"hostname": name, "subdomain": name}, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (_pod("m", True), True),
        (_pod("m", False), False),
        (_pod("m", True, "other"), False),
        (_pod("x", True), False),
        (_pod("m", True, deletionTimestamp="2030-01-01T00:00:00Z"), False),
    ],
)
def test_a_name_exists_once_a_pod_of_its_service_is_ready(pod: dict[str, Any], expected: bool) -> None:
    service = {"metadata": {"name": "m", "namespace": "team"}, "spec": {"clusterIP": "None", "selector": {"app": "m"}}}
    names = build_zone([service], ready_endpoint_slices([service], [pod]), ()).names
    for name in ("m.team.svc.cluster.local", "m.m.team.svc.cluster.local"):
        assert names.get(name, {}).get("A") == (["127.0.0.1"] if expected else None)
