"""Pod objects as the API server holds them, and observed states."""

from __future__ import annotations

import datetime as dt
from typing import Any

from traincrew.embedded.kubelet.lifecycle import next_steps
from traincrew.embedded.kubelet.lifecycle.observed import (
    ObservedContainer,
    ObservedPod,
    ResolvedImage,
    SandboxReady,
    VolumesMounted,
)
from traincrew.embedded.kubelet.lifecycle.steps import NextSteps

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
UID = "12345678"


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def timestamp(seconds: float) -> str:
    return at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(*containers: dict[str, Any] | str, **spec: Any) -> dict[str, Any]:
    """Containers by name or as objects. `status` and `metadata` are those of the pod; other keywords go into the spec."""
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


def deleting(pod: dict[str, Any], seconds: float, grace: int = 30) -> dict[str, Any]:
    meta = {**pod["metadata"], "deletionTimestamp": timestamp(seconds + grace), "deletionGracePeriodSeconds": grace}
    return {**pod, "metadata": meta}


def observed_pod(containers: dict[str, ObservedContainer] | None = None, **more: Any) -> ObservedPod:
    """The pod has a sandbox since START."""
    defaults: dict[str, Any] = {
        "sandbox": SandboxReady("10.244.0.5", START),
        "volumes": VolumesMounted(),
        "host_ips": ("192.0.2.1",),
        "first_seen": START,
    }
    return ObservedPod(containers=containers or {}, **{**defaults, **more})


def observed_container(state: Any = None, **more: Any) -> ObservedContainer:
    return ObservedContainer(state, **{"image": ResolvedImage("", "sha256:1"), **more})


def next_steps_at(pod: dict[str, Any], observed: ObservedPod, seconds: float = 100.0) -> NextSteps:
    return next_steps(pod, observed, at(seconds))


def status_of(result: NextSteps, name: str) -> dict[str, Any]:
    lists = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    found: dict[str, Any] = next(each for field in lists for each in result.status.get(field, ()) if each["name"] == name)
    return found


def condition(result: NextSteps, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in result.status["conditions"] if each["type"] == kind)
    return found


def event_fields(result: NextSteps) -> list[tuple[str, str, str]]:
    return [(event.type, event.reason, event.message) for event in result.events]
