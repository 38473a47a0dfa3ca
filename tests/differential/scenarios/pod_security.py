"""Pod security: every way in which a pod, or a template of pods, is written."""

from __future__ import annotations

from typing import Any

from tests.differential import bodies
from tests.differential.bodies import container, pod
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario

PRIVILEGED = {"privileged": True}
SAFE: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def enforce(p: ScenarioClient, level: str, **labels: str) -> None:
    """Waits until pods of the host's network are rejected."""
    modes = {f"pod-security.kubernetes.io/{mode}": value for mode, value in {"enforce": level, **labels}.items()}
    p.patch("merge", "namespaces", p.namespace, {"metadata": {"labels": modes}})
    p.until(lambda response: response.status == 403, p.path("pods"), pod("settled", hostNetwork=True), dryRun="All")


def debugger(name: str = "debug", **fields: Any) -> dict[str, Any]:
    return {"spec": {"ephemeralContainers": [container(name, **fields)]}}


@scenario("pod security")
def ephemeral_containers_and_pod_security(p: ScenarioClient) -> None:
    enforce(p, "baseline", warn="restricted")
    p.create("pods", pod("a"))
    refused = debugger(securityContext=PRIVILEGED)
    where = ("pods", "a", refused, "ephemeralcontainers")
    for how in ("merge", "strategic"):
        p.patch(how, *where)
    adding = [{"op": "add", "path": "/spec/ephemeralContainers", "value": refused["spec"]["ephemeralContainers"]}]
    p.patch("json", "pods", "a", adding, "ephemeralcontainers")
    p.patch("strategic", *where, dryRun="All")
    stored = p.read("pods", "a").body
    p.replace("pods", "a", {**stored, "spec": {**stored["spec"], **refused["spec"]}}, "ephemeralcontainers")
    applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, **refused}
    p.patch("apply", "pods", "a", applied, "ephemeralcontainers", fieldManager="m")
    for added in ({"capabilities": {"add": ["SYS_ADMIN"]}}, {"procMount": "Unmasked"}):
        p.patch("strategic", "pods", "a", debugger(securityContext=added), "ephemeralcontainers")
    p.patch("strategic", "pods", "a", debugger(), "ephemeralcontainers")
    p.patch("strategic", "pods", "a", debugger("safe", securityContext=SAFE), "ephemeralcontainers")
    p.read("pods", "a")


@scenario("pod security")
def pods_that_violate_a_new_level(p: ScenarioClient) -> None:
    """Updates that add no container and change no image are allowed."""
    p.create("pods", pod("a", container(securityContext=PRIVILEGED)))
    p.create("pods", pod("b", container(securityContext=PRIVILEGED)))
    enforce(p, "baseline", audit="restricted")
    p.patch("merge", "pods", "a", {"metadata": {"labels": {"a": "b"}}})
    p.patch("merge", "pods", "a", {"spec": {"activeDeadlineSeconds": 5}})
    p.patch("strategic", "pods", "a", {"spec": {"containers": [{"name": "c", "image": "other"}]}})
    p.patch("json", "pods", "a", [{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}])
    applied = pod("a", {"name": "c", "image": "other"})
    p.patch("apply", "pods", "a", applied, fieldManager="m", force="true")
    stored = p.read("pods", "b").body
    p.replace("pods", "b", stored)
    stored["spec"]["containers"][0]["image"] = "other"
    p.replace("pods", "b", stored)
    p.patch("strategic", "pods", "b", debugger(), "ephemeralcontainers")
    p.patch("merge", "pods", "b", {"status": {"message": "m"}}, "status")
    p.create("pods", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "b"}, "target": {"name": "n"}}, "b", "binding")
    p.delete("pods", "a", gracePeriodSeconds=0)


@scenario("pod security")
def new_pods_that_violate_the_level(p: ScenarioClient) -> None:
    enforce(p, "baseline")
    host = pod("host", hostPID=True)
    p.create("pods", host)
    p.create("pods", {**host, "metadata": {"generateName": "host-"}})
    p.patch("apply", "pods", "host", host, fieldManager="m")
    p.replace("pods", "host", host)
    p.create("pods", pod("debugged", ephemeralContainers=[container("debug", securityContext=PRIVILEGED)]))


@scenario("pod security")
def templates_that_violate_the_level(p: ScenarioClient) -> None:
    enforce(p, "baseline", warn="restricted")
    template: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container()], "hostPID": True}}
    selector = {"matchLabels": {"a": "b"}}
    for resource, version, kind in (
        ("deployments", "apps/v1", "Deployment"),
        ("replicasets", "apps/v1", "ReplicaSet"),
        ("daemonsets", "apps/v1", "DaemonSet"),
    ):
        p.create(resource, bodies.manifest(version, kind, "t", {"spec": {"selector": selector, "template": template}}))
    spec = {"selector": {"a": "b"}, "template": template, "replicas": 0}
    p.create("replicationcontrollers", bodies.manifest("v1", "ReplicationController", "t", {"spec": spec}))
    p.patch("merge", "replicationcontrollers", "t", {"spec": {"minReadySeconds": 3}})
    p.patch("merge", "replicationcontrollers", "t", {"spec": {"replicas": 1}}, "scale")
    p.create("jobs", bodies.job("t", template={"spec": {**template["spec"], "restartPolicy": "Never"}}))
    p.patch("merge", "jobs", "t", {"spec": {"suspend": True}})
    p.patch("merge", "jobs", "t", {"metadata": {"labels": {"c": "d"}}})
