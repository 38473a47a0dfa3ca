"""Storage, autoscalers, batch jobs, quotas, limit ranges, pod security."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.differential import bodies
from tests.differential.bodies import config_map, container, manifest, pod
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario


def create_each(
    p: ScenarioClient, resource: str, make: Callable[[dict[str, Any]], dict[str, Any]], *specs: dict[str, Any]
) -> None:
    for spec in specs:
        p.create(resource, make(spec))


@scenario("storage")
def claims(p: ScenarioClient) -> None:
    p.create("persistentvolumeclaims", bodies.claim("c"))
    p.create("persistentvolumeclaims", bodies.claim("class", storageClassName="", volumeName="v"))
    create_each(
        p,
        "persistentvolumeclaims",
        lambda spec: bodies.claim("wrong", **spec),
        {"accessModes": []},
        {"accessModes": ["Sometimes"]},
        {"resources": {}},
        {"resources": {"requests": {"storage": "-1"}}},
        {"volumeMode": "Round"},
        {"storageClassName": "Bad Name"},
        {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
    )
    p.delete("persistentvolumeclaims", "c")
    p.gone("persistentvolumeclaims", "c")


@scenario("storage", namespaced=False)
def volumes(p: ScenarioClient) -> None:
    p.create("persistentvolumes", bodies.volume(p.name("v")))
    p.create("persistentvolumes", bodies.volume(p.name("two"), nfs={"server": "s", "path": "/p"}))
    create_each(
        p,
        "persistentvolumes",
        lambda spec: bodies.volume(p.name("wrong"), **spec),
        {"capacity": {}},
        {"accessModes": []},
        {"hostPath": None},
        {"hostPath": {"path": "/a/../b"}},
        {"persistentVolumeReclaimPolicy": "Burn"},
        {"capacity": {"storage": "0"}},
        {"volumeMode": "x"},
    )
    p.patch("merge", "persistentvolumes", p.name("v"), {"spec": {"hostPath": {"path": "/other"}}})
    p.patch("merge", "persistentvolumes", p.name("v"), {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})
    p.patch("merge", "persistentvolumes", p.name("v"), {"status": {"phase": "Available"}}, "status")
    p.delete("persistentvolumes", p.name("v"))
    p.gone("persistentvolumes", p.name("v"))


@scenario("autoscaling")
def autoscalers(p: ScenarioClient) -> None:
    p.create("horizontalpodautoscalers", bodies.autoscaler("h"))
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]
    p.create(
        "horizontalpodautoscalers",
        bodies.autoscaler("m", metrics=metrics, behavior={"scaleDown": {"stabilizationWindowSeconds": 5}}),
    )
    p.send("GET", f"/apis/autoscaling/v1/namespaces/{p.namespace}/horizontalpodautoscalers/m")
    create_each(
        p,
        "horizontalpodautoscalers",
        lambda spec: bodies.autoscaler("wrong", **spec),
        {"maxReplicas": 0},
        {"minReplicas": 0},
        {"minReplicas": 5},
        {"scaleTargetRef": {}},
        {"metrics": [{"type": "Nothing"}]},
        {"metrics": [{"type": "Resource"}]},
        {"maxReplicas": None},
    )
    p.patch("merge", "horizontalpodautoscalers", "h", {"spec": {"maxReplicas": 9}})


@scenario("jobs")
def batch_jobs(p: ScenarioClient) -> None:
    p.create("jobs", bodies.job("j"))
    p.create(
        "jobs",
        bodies.job("more", parallelism=3, completions=5, backoffLimit=2, activeDeadlineSeconds=9, ttlSecondsAfterFinished=1),
    )
    p.create("jobs", bodies.job("indexed", completions=2, completionMode="Indexed"))
    p.create("jobs", bodies.job("still", suspend=True))
    always = {"spec": {"containers": [container()], "restartPolicy": "Always"}}
    create_each(
        p,
        "jobs",
        lambda spec: bodies.job("wrong", **spec),
        {"template": always},
        {"template": {"spec": {"containers": [container()]}}},
        {"template": {}},
        {"parallelism": -1},
        {"backoffLimit": -1},
        {"completionMode": "x"},
        {"completionMode": "Indexed"},
        {"selector": {"matchLabels": {"a": "b"}}},
        {"manualSelector": True},
    )
    p.patch("merge", "jobs", "still", {"spec": {"suspend": False}})
    p.patch("merge", "jobs", "j", {"spec": {"backoffLimit": 3}})
    p.delete("jobs", "j")
    p.delete("jobs", "more", propagationPolicy="Background")


@scenario("limits")
def resource_quotas(p: ScenarioClient) -> None:
    hard = {"pods": "2", "requests.cpu": "1", "count/configmaps": "3", "services": "1"}
    p.create("resourcequotas", manifest("v1", "ResourceQuota", "q", {"spec": {"hard": hard}}))
    p.until(lambda response: response.at("status.used", {}) != {}, p.path("resourcequotas", "q"))
    small = container(resources={"requests": {"cpu": "400m"}})
    p.create("pods", pod("none"))
    p.create("pods", pod("a", small))
    p.create("pods", pod("big", container(resources={"requests": {"cpu": "900m"}})))
    p.create("pods", pod("b", small))
    p.create("pods", pod("c", small))
    p.create("services", bodies.service("one"))
    p.create("services", bodies.service("two"))
    p.create("configmaps", config_map("x"))
    p.create("resourcequotas", manifest("v1", "ResourceQuota", "wrong", {"spec": {"hard": {"pods": "-1", "": "x"}}}))
    p.create("resourcequotas", manifest("v1", "ResourceQuota", "wrong", {"spec": {"hard": {"pods": "1.5"}}}))


@scenario("limits")
def limit_ranges(p: ScenarioClient) -> None:
    limit = {
        "type": "Container",
        "default": {"cpu": "1"},
        "defaultRequest": {"cpu": "100m"},
        "max": {"cpu": "2"},
        "min": {"cpu": "50m"},
    }
    p.create("limitranges", manifest("v1", "LimitRange", "l", {"spec": {"limits": [limit]}}))
    settled = "spec.containers.0.resources.limits.cpu"
    p.until(lambda response: response.at(settled) == "1", p.path("pods"), pod("defaulted"), dryRun="All")
    p.create("pods", pod("big", container(resources={"limits": {"cpu": "3"}})))
    p.create("pods", pod("small", container(resources={"requests": {"cpu": "1m"}, "limits": {"cpu": "1"}})))
    p.create(
        "limitranges",
        manifest(
            "v1", "LimitRange", "wrong", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]}}
        ),
    )
    p.create(
        "limitranges", manifest("v1", "LimitRange", "wrong", {"spec": {"limits": [{"type": "Pod", "default": {"cpu": "1"}}]}})
    )


@scenario("limits")
def pod_security_labels(p: ScenarioClient) -> None:
    def label(**labels: str) -> None:
        p.patch(
            "merge",
            "namespaces",
            p.namespace,
            {"metadata": {"labels": {f"pod-security.kubernetes.io/{k}": v for k, v in labels.items()}}},
        )

    label(enforce="baseline", warn="restricted")
    p.until(lambda response: response.status == 403, p.path("pods"), pod("host", hostNetwork=True), dryRun="All")
    p.create("pods", pod("plain"))
    p.create("pods", pod("host", hostNetwork=True))
    p.create(
        "pods", pod("root", container(securityContext={"privileged": True}), volumes=[{"name": "h", "hostPath": {"path": "/"}}])
    )
    safe: dict[str, Any] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    p.create("pods", pod("safe", container(securityContext=safe)))
    p.create("jobs", bodies.job("j"))
    label(enforce="nonsense")
    label(enforce="restricted")
    p.until(lambda response: response.status == 403, p.path("pods"), pod("refused"), dryRun="All")
