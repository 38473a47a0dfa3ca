"""The whole PodStatus that the node wants to be told."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import attempts, conditions, container_statuses, qos, termination
from traincrew.embedded.kubelet.lifecycle import phase as lifecycle_phase
from traincrew.embedded.kubelet.lifecycle.agenda import Case
from traincrew.embedded.kubelet.lifecycle.facts import Ready
from traincrew.embedded.kubelet.lifecycle.pod import Subject

PodStatus = dict[str, Any]

_OF_OTHERS = ("nominatedNodeName", "resourceClaimStatuses", "resize", "observedGeneration")


def of_pod(case: Case, over: bool) -> PodStatus:
    """over: the pod is to end and nothing of it runs any more."""
    subject, failure = case.subject, case.outlook.failure
    if failure is not None and failure.kind == termination.REJECTION:
        return _rejected(case, failure)
    inits, mains = container_statuses.of_parts(case, subject.inits), container_statuses.of_parts(case, subject.mains)
    if over:
        container_statuses.closed(case, inits, mains)
    by_name = {each["name"]: each for each in (*inits, *mains)}
    phase = _phase(case, by_name, over)
    found: PodStatus = {key: subject.status[key] for key in _OF_OTHERS if key in subject.status}
    found |= {"phase": phase, **_told(case, phase), "qosClass": qos.class_of({"spec": subject.spec, "status": subject.status})}
    found["startTime"] = times.rfc3339(attempts.start_time(subject, case.facts, case.now))
    found |= _addresses(case)
    found["conditions"] = _conditions(case, by_name, phase)
    found |= {"initContainerStatuses": inits} if inits else {}
    found["containerStatuses"] = mains
    if subject.ephemerals:
        found["ephemeralContainerStatuses"] = container_statuses.of_parts(case, subject.ephemerals)
    return found


def _phase(case: Case, by_name: lifecycle_phase.Statuses, over: bool) -> str:
    """A pod is not called finished while anything of it may run, and stays so once it is."""
    subject = case.subject
    if subject.finished:
        return subject.phase
    if over and case.outlook.failure is not None:
        return lifecycle_phase.FAILED
    found = lifecycle_phase.phase(subject, by_name, over)
    if over:
        return found if found in (lifecycle_phase.SUCCEEDED, lifecycle_phase.FAILED) else lifecycle_phase.FAILED
    return subject.phase if found in (lifecycle_phase.SUCCEEDED, lifecycle_phase.FAILED) else found


def _told(case: Case, phase: str) -> PodStatus:
    """Reason and message go with the phase."""
    subject, failure = case.subject, case.outlook.failure
    if failure is not None and phase == lifecycle_phase.FAILED and not subject.finished:
        return {"reason": failure.reason, "message": failure.message}
    if phase != subject.phase:
        return {}
    return {key: subject.status[key] for key in ("message", "reason") if subject.status.get(key)}


def _conditions(case: Case, by_name: lifecycle_phase.Statuses, phase: str) -> list[conditions.Condition]:
    subject, failure = case.subject, case.outlook.failure
    found = conditions.of_pod(subject, by_name, phase, isinstance(case.facts.sandbox, Ready))
    if failure is not None and failure.target and phase == lifecycle_phase.FAILED and not subject.finished:
        conditions.disrupted(found, failure.target, failure.message)
    return conditions.dated(subject, found, case.now)


def _addresses(case: Case) -> PodStatus:
    subject, facts = case.subject, case.facts
    found: PodStatus = {key: subject.status[key] for key in ("hostIP", "hostIPs") if subject.status.get(key)}
    if facts.host_ips:
        found = {"hostIP": facts.host_ips[0], "hostIPs": [{"ip": each} for each in facts.host_ips]}
    own = _own_addresses(case)
    if own:
        found |= {"podIP": own[0], "podIPs": [{"ip": each} for each in own]}
    return found


def _own_addresses(case: Case) -> list[str]:
    """A pod keeps the addresses that it had."""
    sandbox, subject = case.facts.sandbox, case.subject
    if isinstance(sandbox, Ready) and sandbox.ip:
        return list(sandbox.ips or (sandbox.ip,))
    if subject.spec.get("hostNetwork") and case.facts.host_ips:
        return list(case.facts.host_ips)
    return [each["ip"] for each in subject.status.get("podIPs") or ()]


def _rejected(case: Case, failure: termination.Failure) -> PodStatus:
    """A pod that was not taken in has no containers, and no conditions but those that it came with."""
    subject: Subject = case.subject
    found: PodStatus = {"phase": lifecycle_phase.FAILED, "reason": failure.reason, "message": failure.message}
    found["qosClass"] = qos.class_of({"spec": subject.spec, "status": subject.status})
    found["startTime"] = times.rfc3339(attempts.start_time(subject, case.facts, case.now))
    if subject.status.get("conditions"):
        found["conditions"] = [dict(each) for each in subject.status["conditions"]]
    return found
