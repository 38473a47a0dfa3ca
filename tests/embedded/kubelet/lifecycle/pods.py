"""Pods as the API would hold them."""

from __future__ import annotations

import datetime as dt
from typing import Any

from traincrew.embedded.kubelet.lifecycle import next_steps
from traincrew.embedded.kubelet.lifecycle.facts import ContainerFacts, Environment, Facts, Mounted, Ready
from traincrew.embedded.kubelet.lifecycle.steps import Steps

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
UID = "12345678"


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def written(seconds: float) -> str:
    return at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(*containers: dict[str, Any] | str, **spec: Any) -> dict[str, Any]:
    """Names or whole containers; what else is given goes into the spec, `status` and `metadata` apart."""
    meta = {"name": "train", "namespace": "team", "uid": UID, **spec.pop("metadata", {})}
    status = spec.pop("status", {"phase": "Pending", "qosClass": "BestEffort"})
    inits = [container(each) for each in spec.pop("inits", ())]
    body: dict[str, Any] = {"containers": [container(each) for each in containers or ("main",)], **spec}
    if inits:
        body["initContainers"] = inits
    return {"metadata": meta, "spec": {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30, **body}, "status": status}


def container(given: dict[str, Any] | str) -> dict[str, Any]:
    return {"image": "img:1", **({"name": given} if isinstance(given, str) else given)}


def sidecar(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "restartPolicy": "Always", **more}


def deleting(made: dict[str, Any], seconds: float, grace: int = 30) -> dict[str, Any]:
    meta = {**made["metadata"], "deletionTimestamp": written(seconds + grace), "deletionGracePeriodSeconds": grace}
    return {**made, "metadata": meta}


def facts(containers: dict[str, ContainerFacts] | None = None, **more: Any) -> Facts:
    """Of a pod whose sandbox stands since START."""
    whole: dict[str, Any] = {
        "sandbox": Ready("10.244.0.5", START),
        "volumes": Mounted(),
        "host_ips": ("192.0.2.1",),
        "seen": START,
    }
    return Facts(containers=containers or {}, **{**whole, **more})


def known(last: Any = None, **more: Any) -> ContainerFacts:
    return ContainerFacts(last, **{"environment": Environment("", "sha256:1"), **more})


def ask(made: dict[str, Any], found: Facts, seconds: float = 100.0) -> Steps:
    return next_steps(made, found, at(seconds))


def status_of(answer: Steps, name: str) -> dict[str, Any]:
    lists = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    found: dict[str, Any] = next(each for field in lists for each in answer.status.get(field, ()) if each["name"] == name)
    return found


def condition(answer: Steps, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in answer.status["conditions"] if each["type"] == kind)
    return found


def told(answer: Steps) -> list[tuple[str, str, str]]:
    return [(event.kind, event.reason, event.message) for event in answer.events]
