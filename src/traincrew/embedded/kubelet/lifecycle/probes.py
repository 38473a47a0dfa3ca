"""When a probe is due, and what its results mean."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle.observed import PROBE_KINDS, ObservedContainer, ProbeKind, ProbeResults, Running
from traincrew.embedded.kubelet.lifecycle.pod import ContainerSpec, Object

_NONE = ProbeResults()
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


def setting(probe: Object, name: str) -> int:
    """With the defaults of the API server."""
    given = probe.get(name)
    if given:
        return int(given)
    return {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}.get(name, 0)


def handler(probe: Object) -> Object:
    return {name: probe[name] for name in _HANDLERS if probe.get(name) is not None}


def record(probe: Object, before: ProbeResults, passed: bool | None, message: str = "") -> ProbeResults:
    """Adds one result. passed is None if the probe could not be executed. message: of a failure, or the warning of a success."""
    if passed is None:
        return dataclasses.replace(before, running_since=None, last_message=message, errored=True)
    successes = before.successes + 1 if passed else 0
    failures = 0 if passed else before.failures + 1
    result = before.result
    # The API server allows a successThreshold other than 1 for readiness only.
    if passed and successes >= setting(probe, "successThreshold"):
        result = True
    elif not passed and failures >= setting(probe, "failureThreshold"):
        result = False
    return ProbeResults(successes, failures, before.last_started_at, message, result=result)


def result(current: ObservedContainer, kind: ProbeKind) -> bool | None:
    return current.probes.get(kind, _NONE).result


def has_started(container: ContainerSpec, current: ObservedContainer, reported: bool) -> bool:
    """Whether the startup probe has passed. reported: the reported status of this attempt, for results that a restart lost."""
    if not isinstance(current.state, Running):
        return False
    if container.probe("startup") is None:
        return True
    passed = result(current, "startup")
    return reported if passed is None else passed


def is_ready(container: ContainerSpec, current: ObservedContainer, reported: bool) -> bool:
    """Whether the readiness probe of a started container has passed."""
    if container.probe("readiness") is None:
        return True
    passed = result(current, "readiness")
    return reported if passed is None else passed


def due(
    container: ContainerSpec, current: ObservedContainer, started: bool, readiness_only: bool
) -> dict[ProbeKind, dt.datetime]:
    """When each probe is due next. readiness_only: the container is terminating."""
    if not isinstance(current.state, Running):
        return {}
    due_times: dict[ProbeKind, dt.datetime] = {}
    for kind in PROBE_KINDS:
        probe = container.probe(kind)
        if probe is None or (kind == "startup") == started or (readiness_only and kind != "readiness"):
            continue
        results = current.probes.get(kind, _NONE)
        on_hold = results.result is False and kind != "readiness"
        if results.running_since is None and not on_hold:
            due_times[kind] = _due_at(probe, results, current.state.started)
    return due_times


def _due_at(probe: Object, results: ProbeResults, started: dt.datetime) -> dt.datetime:
    if results.last_started_at is not None:
        return times.later(results.last_started_at, setting(probe, "periodSeconds"))
    return times.later(started, setting(probe, "initialDelaySeconds"))
