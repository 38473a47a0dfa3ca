"""Pod affinity, anti-affinity and topology spread."""

from __future__ import annotations

from typing import Any

from tests.scheduling.builders import bound, messages, node, pod, run_cycle

HOST = "kubernetes.io/hostname"
HARD = "requiredDuringSchedulingIgnoredDuringExecution"


def near(kind: str, labels: dict[str, str], key: str = HOST, **more: Any) -> dict[str, Any]:
    return {"affinity": {kind: {HARD: [{"labelSelector": {"matchLabels": labels}, "topologyKey": key, **more}]}}}


def test_required_affinity_is_satisfied() -> None:
    spec = near("podAffinity", {"app": "web"})
    nodes = [node("a"), node("b")]
    web = pod("web", on="b", labels={"app": "web"})
    assert bound(run_cycle(web, pod("p", spec), nodes=nodes)) == {"p": "b"}
    assert messages(run_cycle(pod("p", spec), nodes=[node()]))["p"].startswith(
        "0/1 nodes are available: 1 node(s) didn't match pod affinity rules."
    )


def test_the_first_pod_with_affinity_to_itself_may_go_anywhere() -> None:
    spec = near("podAffinity", {"app": "web"})
    crowd = [pod(f"p{index}", spec, labels={"app": "web"}, age=9 - index) for index in range(3)]
    assert set(bound(run_cycle(*crowd, nodes=[node("a"), node("b")])).values()) == {"a"}


def test_required_anti_affinity_separates_pods() -> None:
    spec = near("podAntiAffinity", {"app": "web"})
    crowd = [pod(f"p{index}", spec, labels={"app": "web"}, age=9 - index) for index in range(3)]
    result = run_cycle(*crowd, nodes=[node("a"), node("b")])
    assert bound(result) == {"p0": "a", "p1": "b"}
    assert messages(result)["p2"].startswith("0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.")


def test_anti_affinity_of_existing_pods_is_respected() -> None:
    hermit = pod("hermit", near("podAntiAffinity", {"app": "web"}), on="machine")
    result = run_cycle(hermit, pod("p", labels={"app": "web"}), pod("q", labels={"app": "db"}))
    assert bound(result) == {"q": "machine"}
    words = "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules."
    assert messages(result)["p"].startswith(words)


def test_other_namespaces_count_only_if_they_are_named_or_selected() -> None:
    other = pod("other", on="machine", labels={"app": "web"}, namespace="elsewhere")
    assert bound(run_cycle(other, pod("p", near("podAntiAffinity", {"app": "web"})))) == {"p": "machine"}
    assert bound(run_cycle(other, pod("p", near("podAntiAffinity", {"app": "web"}, namespaces=["elsewhere"])))) == {}
    chosen = near("podAntiAffinity", {"app": "web"}, namespaceSelector={"matchLabels": {"kind": "far"}})
    assert bound(run_cycle(other, pod("p", chosen), namespaces={"elsewhere": {"kind": "far"}})) == {}
    assert bound(run_cycle(other, pod("p", chosen), namespaces={"elsewhere": {}})) == {"p": "machine"}


def test_topology_spread_constraints_are_satisfied() -> None:
    rule = {
        "maxSkew": 1,
        "topologyKey": HOST,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "w"}},
    }
    spec = {"topologySpreadConstraints": [rule]}
    nodes = [node("a", cpu="100"), node("b", cpu="1")]
    crowd = [pod(f"p{index}", spec, labels={"app": "w"}, requests={"cpu": "1"}, age=9 - index) for index in range(4)]
    result = run_cycle(*crowd, nodes=nodes)
    assert sorted(bound(result).values()) == ["a", "a", "b"]
    assert "1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints." in messages(result)["p3"]


def spread(**constraint: Any) -> dict[str, Any]:
    rule = {
        "maxSkew": 1,
        "topologyKey": HOST,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "w"}},
    }
    return {"topologySpreadConstraints": [{**rule, **constraint}]}


def test_a_spread_constraint_counts_the_pods_with_the_same_values_of_its_label_keys() -> None:
    nodes = [node("a"), node("b", {"unschedulable": True})]
    old = pod("old", on="a", labels={"app": "w", "revision": "1"})
    new = {"app": "w", "revision": "2"}
    assert bound(run_cycle(old, pod("p", spread(), labels=new), nodes=nodes)) == {}
    assert bound(run_cycle(old, pod("p", spread(matchLabelKeys=["revision", "absent"]), labels=new), nodes=nodes)) == {"p": "a"}


def test_a_spread_constraint_may_leave_out_tainted_nodes() -> None:
    nodes = [node("a"), node("b", {"taints": [{"key": "k", "effect": "NoSchedule"}]})]
    running = pod("running", on="a", labels={"app": "w"})
    assert bound(run_cycle(running, pod("p", spread(), labels={"app": "w"}), nodes=nodes)) == {}
    assert bound(run_cycle(running, pod("p", spread(nodeTaintsPolicy="Honor"), labels={"app": "w"}), nodes=nodes)) == {"p": "a"}


def test_a_spread_constraint_with_an_empty_selector_counts_no_pods() -> None:
    nodes = [node("a"), node("b", {"taints": [{"key": "k", "effect": "NoSchedule"}]})]
    crowd = [pod(f"p{index}", on="a") for index in range(3)]
    assert bound(run_cycle(*crowd, pod("p", spread(labelSelector={})), nodes=nodes)) == {"p": "a"}


def test_preferred_affinity_decides_between_nodes() -> None:
    term = {"weight": 50, "podAffinityTerm": {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOST}}
    spec = {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}
    web = pod("web", on="b", labels={"app": "web"})
    assert bound(run_cycle(web, pod("p", spec), nodes=[node("a"), node("b")])) == {"p": "b"}
