"""Names of Services in variables, where every pod is on this host."""

from __future__ import annotations

import json

import pytest

from traincrew.embedded.node.network.localised import localised

SERVICES = [
    {"metadata": {"name": "job-master-0", "namespace": "team"}, "spec": {}},
    {"metadata": {"name": "job-master-0-x", "namespace": "team"}, "spec": {}},
    {"metadata": {"name": "worker", "namespace": "team"}, "spec": {}},
    {"metadata": {"name": "store", "namespace": "other"}, "spec": {}},
    {"metadata": {"name": "outside", "namespace": "team"}, "spec": {"type": "ExternalName"}},
]


def _one(value: str) -> str:
    return localised({"X": value}, SERVICES, "team")["X"]


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
    assert localised({"A": "worker:1"}, [], "team") == {"A": "worker:1"}
