"""When which probe is due, and what its results amount to."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle.facts import PROBE_KINDS, ContainerFacts, ProbeFacts, ProbeKind, Running
from traincrew.embedded.kubelet.lifecycle.pod import Object, Part

_NONE = ProbeFacts()
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


def setting(probe: Object, name: str) -> int:
    """With the API server's defaults."""
    given = probe.get(name)
    if given:
        return int(given)
    return {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}.get(name, 0)


def handler(probe: Object) -> Object:
    return {name: probe[name] for name in _HANDLERS if probe.get(name) is not None}


def fold(probe: Object, before: ProbeFacts, passed: bool | None, message: str = "") -> ProbeFacts:
    """One result more; passed is None where the probe could not be made at all."""
    if passed is None:
        return dataclasses.replace(before, under_way=None, last_message=message, errored=True)
    successes = before.successes + 1 if passed else 0
    failures = 0 if passed else before.failures + 1
    verdict = before.verdict
    # The API server holds successThreshold at 1 for all but readiness.
    if passed and successes >= setting(probe, "successThreshold"):
        verdict = True
    elif not passed and failures >= setting(probe, "failureThreshold"):
        verdict = False
    return ProbeFacts(successes, failures, before.last_at, "" if passed else message, verdict=verdict)


def result(facts: ContainerFacts, kind: ProbeKind) -> bool | None:
    return facts.probes.get(kind, _NONE).verdict


def began(part: Part, facts: ContainerFacts, known: bool) -> bool:
    """Whether the container counts as started. known: the API says so of this very attempt; results may be forgotten."""
    if not isinstance(facts.last, Running):
        return False
    if part.probe("startup") is None:
        return True
    verdict = result(facts, "startup")
    return known if verdict is None else verdict


def ready(part: Part, facts: ContainerFacts, known: bool) -> bool:
    """Of a container that has started."""
    if part.probe("readiness") is None:
        return True
    verdict = result(facts, "readiness")
    return known if verdict is None else verdict


def due(part: Part, facts: ContainerFacts, started: bool, quiet: bool) -> dict[ProbeKind, dt.datetime]:
    """The moment of each probe that is to be made next; quiet: the container is to end, only its readiness still counts."""
    last = facts.last
    if not isinstance(last, Running):
        return {}
    found: dict[ProbeKind, dt.datetime] = {}
    for kind in PROBE_KINDS:
        probe = part.probe(kind)
        if probe is None or (kind == "startup") == started or (quiet and kind != "readiness"):
            continue
        results = facts.probes.get(kind, _NONE)
        on_hold = results.verdict is False and kind != "readiness"
        if results.under_way is None and not on_hold:
            found[kind] = _moment(probe, results, last.started)
    return found


def _moment(probe: Object, results: ProbeFacts, started: dt.datetime) -> dt.datetime:
    if results.last_at is not None:
        return times.later(results.last_at, setting(probe, "periodSeconds"))
    return times.later(started, setting(probe, "initialDelaySeconds"))
