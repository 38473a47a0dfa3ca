"""The filters and their messages."""

from __future__ import annotations

from typing import Any

import pytest
from tests.scheduling.builders import bound, messages, node, pod, run_cycle

from traincrew.scheduling.decisions import Profile

NO_VICTIMS = " preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
NOT_HELPFUL = " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


def refused(spec: dict[str, Any], machine: Any = None, **more: Any) -> str:
    return messages(run_cycle(pod("p", spec, **more), nodes=[machine or node()]))["p"]


def test_requests_are_subtracted_from_free_resources() -> None:
    machine = node(cpu="3", memory="4Gi")
    held = [pod("a", requests={"cpu": "1500m"}, on="machine"), pod("b", requests={"cpu": "1"}), pod("c", requests={"cpu": "1"})]
    result = run_cycle(*held, nodes=[machine])
    assert bound(result) == {"b": "machine"}
    assert messages(result) == {"c": "0/1 nodes are available: 1 Insufficient cpu." + NO_VICTIMS}


def test_all_insufficient_resources_are_named() -> None:
    wants = {"cpu": "8", "memory": "80Gi", "nvidia.com/gpu": "1"}
    words = "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu."
    assert refused({}, requests=wants) == words + NO_VICTIMS


def test_the_number_of_pods_of_a_node_is_limited() -> None:
    assert refused({}, node(pods="0")) == "0/1 nodes are available: 1 Too many pods." + NO_VICTIMS


def test_finished_pods_free_their_resources_and_terminating_ones_do_not() -> None:
    gone = pod("a", requests={"cpu": "4"}, on="machine", status={"phase": "Succeeded"})
    assert bound(run_cycle(gone, pod("b", requests={"cpu": "4"}))) == {"b": "machine"}
    going = pod("a", requests={"cpu": "4"}, on="machine", deleting=True)
    assert bound(run_cycle(going, pod("b", requests={"cpu": "4"}))) == {}


def test_init_containers_run_one_after_the_other_and_sidecars_with_all_that_follow() -> None:
    def container(cpu: str, **more: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "initContainers": [container("3"), container("1", restartPolicy="Always"), container("2500m")],
        "containers": [container("1"), container("500m")],
        "overhead": {"cpu": "250m"},
    }
    assert pod("p", spec).requests == {"cpu": 3750}
    assert pod("q", {"containers": spec["containers"]}).requests == {"cpu": 1500}


@pytest.mark.parametrize("name", ["cpu", "memory", "nvidia.com/gpu"])
def test_pods_may_request_more_of_an_overcommitted_resource_than_the_node_has(name: str) -> None:
    held = [pod("a", requests={name: "100Gi"}), pod("b", requests={name: "100Gi"})]
    assert bound(run_cycle(*held, policy=Profile(overcommitted=frozenset({name})))) == {"a": "machine", "b": "machine"}


def test_a_message_suggests_the_option_that_would_help() -> None:
    policy = Profile(overcommitted=frozenset({"cpu"}), suggests_options=True)
    result = run_cycle(pod("a", requests={"memory": "9Gi"}), pod("b", requests={"example.com/x": "1"}), policy=policy)
    assert messages(result)["a"].endswith("To let pods request more memory than the machine has, start the cluster "
                                      "with `traincrew up --overcommit memory`.")  # fmt: skip
    assert "`traincrew up --device example.com/x=N`" in messages(result)["b"]


def test_a_pod_that_can_never_fit_gets_another_message_than_one_that_waits() -> None:
    policy = Profile(overcommitted=frozenset({"cpu"}), suggests_options=True)
    never = "This machine has 8 GiB of memory for pods. The pod requests 9 GiB and will never fit."
    result = run_cycle(
        pod("a", requests={"memory": "9Gi"}),
        pod("b", requests={"memory": "5Gi"}),
        pod("c", requests={"memory": "5Gi"}),
        policy=policy,
    )
    assert never in messages(result)["a"]
    (waits,) = [name for name in ("b", "c") if name in messages(result)]
    assert "will never fit" not in messages(result)[waits]
    assert "`traincrew up --overcommit memory`" in messages(result)[waits]


def test_a_cluster_without_nodes() -> None:
    assert messages(run_cycle(pod("p"), nodes=[])) == {"p": "no nodes available to schedule pods"}


def test_taints_exclude_pods_that_do_not_tolerate_them() -> None:
    taint = {"key": "dedicated", "value": "night", "effect": "NoSchedule"}
    machine = node(spec={"taints": [taint, {"key": "soft", "effect": "PreferNoSchedule"}]})
    words = "0/1 nodes are available: 1 node(s) had untolerated taint {dedicated: night}."
    assert refused({}, machine) == words + NOT_HELPFUL
    for toleration in (
        {"operator": "Exists"},
        {"key": "dedicated", "operator": "Exists"},
        {"key": "dedicated", "operator": "Equal", "value": "night", "effect": "NoSchedule"},
    ):
        assert bound(run_cycle(pod("p", {"tolerations": [toleration]}), nodes=[machine])) == {"p": "machine"}
    for toleration in ({"key": "dedicated", "value": "day"}, {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}):
        assert bound(run_cycle(pod("p", {"tolerations": [toleration]}), nodes=[machine])) == {}


def test_an_unschedulable_node_takes_only_pods_that_tolerate_its_taint() -> None:
    machine = node(spec={"unschedulable": True})
    assert refused({}, machine) == "0/1 nodes are available: 1 node(s) were unschedulable." + NOT_HELPFUL
    toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
    assert bound(run_cycle(pod("p", {"tolerations": [toleration]}), nodes=[machine])) == {"p": "machine"}


def test_a_node_that_is_not_ready_takes_no_pods() -> None:
    words = "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }."
    assert refused({}, node(conditions=[{"type": "Ready", "status": "False"}])) == words + NOT_HELPFUL


def affinity(*expressions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    terms = [{"matchExpressions": list(expressions), **fields}]
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}


@pytest.mark.parametrize(
    ("spec", "goes"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, True),
        ({"nodeSelector": {"disk": "tape"}}, False),
        (affinity({"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}), True),
        (affinity({"key": "disk", "operator": "NotIn", "values": ["ssd"]}), False),
        (affinity({"key": "tape", "operator": "NotIn", "values": ["x"]}), True),
        (affinity({"key": "tape", "operator": "DoesNotExist"}), True),
        (affinity({"key": "disk", "operator": "Exists"}, {"key": "cores", "operator": "Gt", "values": ["8"]}), True),
        (affinity({"key": "cores", "operator": "Lt", "values": ["8"]}), False),
        (affinity(), False),
    ],
)
def test_nodes_are_selected_by_labels(spec: dict[str, Any], goes: bool) -> None:
    machine = node(labels={"disk": "ssd", "cores": "16"})
    if goes:
        assert bound(run_cycle(pod("p", spec), nodes=[machine])) == {"p": "machine"}
    else:
        assert (
            refused(spec, machine)
            == "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector." + NOT_HELPFUL
        )


def test_nodes_are_selected_by_name() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    nodes = [node("a"), node("b")]
    assert bound(run_cycle(pod("p", affinity(matchFields=[field])), nodes=nodes)) == {"p": "b"}
    words = "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    assert refused(affinity(matchFields=[field]), node("a")) == words + NOT_HELPFUL


def test_a_host_port_is_used_once_per_node() -> None:
    def spec(address: str) -> dict[str, Any]:
        return {"containers": [{"ports": [{"containerPort": 1, "hostPort": 80, "protocol": "TCP", "hostIP": address}]}]}

    holder = pod("a", spec("127.0.0.1"), on="machine")
    result = run_cycle(holder, pod("b", spec("127.0.0.2")), pod("c", spec("")))
    assert bound(result) == {"b": "machine"}
    words = "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."
    assert messages(result)["c"] == words + NO_VICTIMS


def test_gated_pods_and_pods_of_other_schedulers_are_ignored() -> None:
    result = run_cycle(pod("a", {"schedulingGates": [{"name": "wait"}]}), pod("b", {"schedulerName": "mine"}))
    assert (bound(result), messages(result)) == ({}, {})


def test_the_reasons_of_all_nodes_are_counted() -> None:
    nodes = [
        node("a", cpu="1"),
        node("b", spec={"taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]}),
        node("c", cpu="1"),
    ]
    words = (
        "0/3 nodes are available: 1 node(s) had untolerated taint {k: v}, 2 Insufficient cpu. preemption: 0/3 nodes are "
        "available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
    )
    assert messages(run_cycle(pod("p", requests={"cpu": "2"}), nodes=nodes)) == {"p": words}


def test_preferences_and_prefer_no_schedule_taints_decide_between_nodes() -> None:
    term = {"weight": 10, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}
    spec = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}
    nodes = [node("a"), node("b", labels={"disk": "ssd"})]
    assert bound(run_cycle(pod("p", spec), nodes=nodes)) == {"p": "b"}
    shy = [node("a", spec={"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}), node("b")]
    assert bound(run_cycle(pod("p"), nodes=shy)) == {"p": "b"}
    assert bound(
        run_cycle(pod("p", requests={"cpu": "1"}), pod("q", requests={"cpu": "3"}, on="a"), nodes=[node("a"), node("b")])
    ) == {"p": "b"}


def test_pods_are_scheduled_by_priority_then_age() -> None:
    held = [
        pod("young", requests={"cpu": "2"}, age=1),
        pod("old", requests={"cpu": "2"}, age=9),
        pod("high", {"priority": 5}, requests={"cpu": "2"}),
    ]
    assert list(bound(run_cycle(*held))) == ["high", "old"]
