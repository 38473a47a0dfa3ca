"""Pods: defaults, validation, and the subresources binding, eviction, log and exec."""

from __future__ import annotations

from typing import Any

from tests.differential import bodies
from tests.differential.bodies import container, pod
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario


@scenario("pods")
def defaults_of_pods(p: ScenarioClient) -> None:
    p.create("pods", pod("bare"))
    probe = {"httpGet": {"port": 80}, "periodSeconds": 3}
    resources = {"requests": {"cpu": "0.5", "memory": "1024Ki"}, "limits": {"memory": "2000M", "nvidia.com/gpu": 1}}
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
        {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]
    rich = container(
        "rich",
        resources=resources,
        env=env,
        ports=[{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}],
        livenessProbe=probe,
        readinessProbe={"exec": {"command": ["true"]}},
        startupProbe={"tcpSocket": {"port": "dns"}},
        lifecycle={"preStop": {"httpGet": {"port": 1}}},
        volumeMounts=[{"name": "v", "mountPath": "/v"}],
        securityContext={"runAsUser": 5},
    )
    volumes: list[dict[str, Any]] = [
        {"name": "v", "emptyDir": {}},
        {"name": "c", "configMap": {"name": "c"}},
        {"name": "s", "secret": {"secretName": "s"}},
        {"name": "h", "hostPath": {"path": "/x"}},
        {"name": "d", "downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "e"},
    ]
    p.create("pods", pod("rich", rich, volumes=volumes, hostNetwork=True, priorityClassName="system-cluster-critical"))
    p.create(
        "pods",
        pod(
            "latest",
            {"name": "a", "image": "x"},
            {"name": "b", "image": "x:latest"},
            {"name": "c", "image": "x@sha256:" + "0" * 64},
        ),
    )
    p.create("pods", pod("limits", container(resources={"limits": {"cpu": "1", "memory": "1Gi"}})))
    p.create("pods", pod("best", container(resources={})))
    p.create("pods", pod("old", serviceAccount="default", restartPolicy="OnFailure"))
    p.create("pods", pod("unmounted", automountServiceAccountToken=False))
    p.create("pods", pod("stranger", serviceAccountName="nobody"))


@scenario("pods")
def invalid_pods(p: ScenarioClient) -> None:
    invalid: tuple[dict[str, Any], ...] = (
        {"containers": []},
        {"containers": None},
        {"containers": [{"name": "a"}]},
        {"containers": [{"image": "i"}]},
        {"containers": [container("UPPER")]},
        {"containers": [container("a"), container("a")]},
        {"containers": [container("a", image=" i")]},
        {"containers": [container(ports=[{"containerPort": 0}])]},
        {"containers": [container(ports=[{"containerPort": 70000}])]},
        {"containers": [container(ports=[{"containerPort": 1, "protocol": "ICMP"}])]},
        {"containers": [container(ports=[{"containerPort": 1, "name": "x"}, {"containerPort": 2, "name": "x"}])]},
        {"containers": [container(env=[{"name": ""}])]},
        {"containers": [container(env=[{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}])]},
        {"containers": [container(volumeMounts=[{"name": "none", "mountPath": "/x"}])]},
        {"containers": [container(volumeMounts=[{"name": "none"}])]},
        {"containers": [container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})]},
        {"containers": [container(resources={"limits": {"cpu": "-1"}})]},
        {"containers": [container(resources={"requests": {"nvidia.com/gpu": "1"}})]},
        {"containers": [container(resources={"limits": {"nvidia.com/gpu": "0.5"}})]},
        {"containers": [container(resources={"limits": {"gpus": "1"}})]},
        {"containers": [container(imagePullPolicy="Sometimes")]},
        {"containers": [container(livenessProbe={})]},
        {"containers": [container(livenessProbe={"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}})]},
        {"containers": [container(terminationMessagePolicy="Shout")]},
        {"containers": [container()], "restartPolicy": "Perhaps"},
        {"containers": [container()], "dnsPolicy": "Mine"},
        {"containers": [container()], "activeDeadlineSeconds": 0},
        {"containers": [container()], "terminationGracePeriodSeconds": -1},
        {"containers": [container()], "nodeSelector": {"a b": "c"}},
        {"containers": [container()], "volumes": [{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]},
        {"containers": [container()], "volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]},
        {"containers": [container()], "volumes": [{"name": "V V"}]},
        {"containers": [container()], "volumes": [{"name": "v", "persistentVolumeClaim": {}}]},
        {"containers": [container()], "tolerations": [{"operator": "Equal", "effect": "Never"}]},
        {"containers": [container()], "hostname": "UPPER", "subdomain": "a.b"},
        {"containers": [container()], "initContainers": [container()]},
        {"containers": [container()], "schedulerName": ""},
        {"containers": [container()], "priorityClassName": "none"},
        {"containers": [container()], "imagePullSecrets": [{"name": ""}]},
        {"containers": [container()], "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
        {"containers": [container()], "overhead": {"cpu": "1"}},
        {"containers": [container()], "nodeName": "Not_A_Node"},
        {},
    )
    for spec in invalid:
        body = pod("wrong")
        body["spec"] = spec
        p.create("pods", body)
    p.create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "wrong"}})


def binding(name: str, node: str = "node-1", **target: Any) -> dict[str, Any]:
    return bodies.manifest("v1", "Binding", name, {"target": {"kind": "Node", "name": node, **target}})


@scenario("pods")
def bindings(p: ScenarioClient) -> None:
    p.create("pods", pod("a"))
    p.create("pods", binding("a", dryRun="x"), "a", "binding", dryRun="All")
    p.create("pods", binding("a"), "a", "binding")
    p.read("pods", "a")
    p.create("pods", binding("a", "other"), "a", "binding")
    p.create("pods", binding("none"), "none", "binding")
    p.create("pods", pod("b"))
    p.create("pods", binding("c"), "b", "binding")
    p.create("pods", binding("b", ""), "b", "binding")
    p.create("pods", {**binding("b"), "target": {"kind": "Shelf", "name": "x"}}, "b", "binding")
    p.create("bindings", binding("b"))
    p.read("pods", "b")
    p.create("pods", pod("gated", schedulingGates=[{"name": "example.com/wait"}]))
    p.create("pods", binding("gated"), "gated", "binding")
    p.patch("merge", "pods", "gated", {"spec": {"schedulingGates": []}})


@scenario("pods")
def evictions(p: ScenarioClient) -> None:
    def eviction(name: str, **rest: Any) -> dict[str, Any]:
        return bodies.manifest("policy/v1", "Eviction", name, rest)

    p.create("pods", pod("a", nodeName="n"))
    p.create("pods", eviction("a"), "a", "eviction", dryRun="All")
    p.create("pods", eviction("b"), "a", "eviction")
    p.create(
        "pods", eviction("a", deleteOptions={"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}}), "a", "eviction"
    )
    p.create("pods", eviction("a", deleteOptions={"gracePeriodSeconds": 3}), "a", "eviction")
    p.read("pods", "a")
    p.create("pods", eviction("none"), "none", "eviction")
    p.create("pods", pod("c"))
    p.create("pods", eviction("c"), "c", "eviction")
    p.read("pods", "c")
    p.create("pods", {**eviction("c"), "apiVersion": "policy/v9"}, "c", "eviction")


@scenario("pods")
def evictions_within_a_budget(p: ScenarioClient) -> None:
    def eviction(name: str, **rest: Any) -> dict[str, Any]:
        return bodies.manifest("policy/v1", "Eviction", name, rest)

    def budget(name: str, **spec: Any) -> dict[str, Any]:
        return bodies.manifest(
            "policy/v1", "PodDisruptionBudget", name, {"spec": {"selector": {"matchLabels": {"of": name}}, **spec}}
        )

    def counted(name: str, allowed: int, **more: Any) -> None:
        counts = {"disruptionsAllowed": allowed, "currentHealthy": allowed + 1, "desiredHealthy": 1, "expectedPods": 2}
        status = {"status": {"observedGeneration": 1, **counts, **more}}
        p.patch("merge", "poddisruptionbudgets", name, status, "status")

    ready = {"type": "Ready", "status": "True"}
    for each, labels in {"a": "x", "b": "x", "c": "x", "u": "x", "v": "y", "w": "z"}.items():
        manifest = pod(each, nodeName="n")
        manifest["metadata"]["labels"] = {"of": labels}
        p.create("pods", manifest)
        conditions = [] if each in ("u", "v") else [ready]
        p.patch("merge", "pods", each, {"status": {"phase": "Running", "conditions": conditions}}, "status")
    p.create("poddisruptionbudgets", budget("x", minAvailable=1))
    p.create("pods", eviction("a"), "a", "eviction")
    counted("x", 1)
    p.create("pods", eviction("a"), "a", "eviction", dryRun="All")
    p.read("poddisruptionbudgets", "x")
    p.create("pods", eviction("a"), "a", "eviction")
    p.read("pods", "a")
    p.read("poddisruptionbudgets", "x")
    p.create("pods", eviction("b"), "b", "eviction")
    p.create("pods", eviction("b"), "b", "eviction", dryRun="All")
    p.create("pods", eviction("u"), "u", "eviction")
    p.create("poddisruptionbudgets", budget("y", maxUnavailable=0, unhealthyPodEvictionPolicy="AlwaysAllow"))
    p.create("pods", eviction("v"), "v", "eviction")
    for name in ("z", "zz"):
        p.create("poddisruptionbudgets", {**budget("z", minAvailable="50%"), "metadata": {"name": name}})
    p.create("pods", eviction("w"), "w", "eviction")
    p.patch("merge", "poddisruptionbudgets", "x", {"spec": {"minAvailable": 2}})
    p.create("pods", eviction("b"), "b", "eviction")
    p.patch("merge", "pods", "c", {"status": {"phase": "Succeeded"}}, "status")
    p.create("pods", eviction("c"), "c", "eviction")


@scenario("pods")
def logs_and_streams_without_a_node(p: ScenarioClient) -> None:
    p.create("pods", pod("a", container("one"), container("two"), initContainers=[container("zero")]))
    p.create("pods", pod("b"))
    p.send("GET", p.path("pods", "a", "log"))
    p.send("GET", p.path("pods", "a", "log"), container="one")
    p.send("GET", p.path("pods", "a", "log"), container="zero")
    p.send("GET", p.path("pods", "a", "log"), container="none")
    p.send("GET", p.path("pods", "b", "log"))
    p.send("GET", p.path("pods", "b", "log"), follow="true")
    p.send("GET", p.path("pods", "none", "log"))
    queries: tuple[dict[str, Any], ...] = (
        {"tailLines": -1}, {"limitBytes": 0}, {"sinceSeconds": 0}, {"sinceSeconds": 5, "sinceTime": "2001-01-01T00:00:00Z"},
        {"tailLines": "x"}, {"sinceTime": "x"}, {"previous": "x"}, {"stream": "All"},
    )  # fmt: skip
    for query in queries:
        p.send("GET", p.path("pods", "b", "log"), **query)
    for sub in ("exec", "attach", "portforward"):
        p.send("GET", p.path("pods", "b", sub), command="ls", stdout="true")
        p.send("POST", p.path("pods", "b", sub), command="ls", stdout="true")
        p.send("POST", p.path("pods", "none", sub), command="ls", stdout="true")
    p.send("POST", p.path("pods", "a", "exec"), command="ls", stdout="true")
    p.send("POST", p.path("pods", "b", "exec"), stdout="true")
    p.send("POST", p.path("pods", "b", "exec"), command="ls")
    p.send("POST", p.path("pods", "b", "exec"), command="ls", stdout="true", container="none")


@scenario("pods")
def ephemeral_and_resized(p: ScenarioClient) -> None:
    p.create("pods", pod("a"))
    p.read("pods", "a", "ephemeralcontainers")
    p.read("pods", "a", "resize")
    p.patch("merge", "pods", "a", {"spec": {"ephemeralContainers": [container("debug")]}})


@scenario("pods")
def priorities(p: ScenarioClient) -> None:
    name = p.name("high")
    p.create(
        "priorityclasses",
        bodies.manifest("scheduling.k8s.io/v1", "PriorityClass", name, {"value": 1000, "preemptionPolicy": "Never"}),
    )
    p.create("priorityclasses", bodies.manifest("scheduling.k8s.io/v1", "PriorityClass", p.name("max"), {"value": 2000000000}))
    p.create("priorityclasses", bodies.manifest("scheduling.k8s.io/v1", "PriorityClass", "system-mine", {"value": 1}))
    p.create("priorityclasses", bodies.manifest("scheduling.k8s.io/v1", "PriorityClass", p.name("none"), {}))
    p.create("pods", pod("a", priorityClassName=name))
    p.create("pods", pod("b", priorityClassName=name, priority=5))
    p.create("pods", pod("c", priority=5))
    p.patch("merge", "priorityclasses", name, {"value": 5})
    p.patch("merge", "priorityclasses", name, {"description": "d"})
    p.delete("priorityclasses", name)
    p.delete("priorityclasses", p.name("none"))


@scenario("pods")
def proxies_without_a_server(p: ScenarioClient) -> None:
    ports = [{"name": "http", "port": 80}]
    p.create("pods", pod("a"))
    p.create("services", bodies.manifest("v1", "Service", "s", {"spec": {"clusterIP": "None", "ports": ports}}))
    p.create("endpoints", bodies.manifest("v1", "Endpoints", "s", {}))
    for name in ("a", "a:80", "https:a:80", "none", "none:80", "x:a:80", "a:b:c:d", ":80"):
        p.send("GET", p.path("pods", name, "proxy/x"))
    for name in ("s", "s:80", "s:http", "https:s:81", "none", "none:80", "x:s:80"):
        p.send("GET", p.path("services", name, "proxy/"))
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        p.send(method, p.path("services", "s:80", "proxy/x"))
    p.send("GET", p.path("pods", "a", "proxy"), dryRun="All")
    p.send("GET", p.path("configmaps", "a", "proxy"))
