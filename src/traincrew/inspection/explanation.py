"""The page of `traincrew why`: what happened to a job, the evidence, and what to do now. Each thing is said once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from traincrew.apimachinery import durations
from traincrew.diagnosis import torchrun_restarts
from traincrew.diagnosis.hang import ReplicaActivity
from traincrew.diagnosis.last_exception import LastException
from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.inspection import (
    advice,
    event_warnings,
    events,
    failures,
    image_events,
    kueue_admission,
    memory_limits,
    pod_waiting_reasons,
    replica_activity,
    scaling_advice,
    waiting_advice,
)
from traincrew.inspection.observed_job import ObservedJob, since
from traincrew.kinds import elasticity
from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.planner import failure_summary


@dataclasses.dataclass(frozen=True)
class UnfinishedReplica:
    """A replica that has printed an exception and still runs."""

    replica: str
    since: Time
    """The time of its last output."""
    exception: LastException

    def sentence(self, now: Time) -> str:
        ago = durations.age(self.since, now)
        return f"{self.replica} printed an exception {ago} ago and has not exited: {self.exception.summary}"


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What was read in addition to the job and its pods."""

    events: tuple[events.ListedEvent, ...] = ()
    ends: tuple[ReplicaEnd, ...] = ()
    """The ends of the failed replicas whose logs could be read."""
    resource_usage: tuple[str, ...] = ()
    """Which jobs use the resources that are insufficient."""
    images: tuple[str, ...] = ()
    """Images of this machine that have the module that the failed replica did not find."""
    install_package: str = ""
    """The command that installs PACKAGE in the environment of the failed replica. Empty: its own pip does."""
    admission: kueue_admission.Admission | None = None
    """For a suspended job with a queue of Kueue."""
    unfinished: tuple[UnfinishedReplica, ...] = ()
    no_egress: str = ""
    """Why the pods of the failed replica's node cannot reach external networks, if it failed of that."""
    restarts: torchrun_restarts.ReplicaRestarts | None = None
    """Of the workers of torchrun in a running job."""
    activities: tuple[ReplicaActivity, ...] = ()
    """Of the replicas of a running job."""
    install: str = ""
    """The command that installs py-spy, if it is missing."""


@dataclasses.dataclass(frozen=True)
class Explanation:
    job: str
    state: str
    causes: tuple[str, ...] = ()
    """What happened."""
    evidence: tuple[str, ...] = ()
    """Lines of the output of the replica that failed first."""
    activity: tuple[str, ...] = ()
    """Of each replica of a running job: when it printed its last line, and its CPU. Facts, whether or not they mean a problem."""
    pods: tuple[str, ...] = ()
    """Pods that are not running, each with its reason, if the causes do not name them."""
    warnings: tuple[str, ...] = ()
    """Warning events of the job and its pods, if the causes do not contain them."""
    remedies: tuple[str, ...] = ()
    """What to do."""
    commands: tuple[str, ...] = ()
    """Commands that show more."""

    def as_json(self) -> dict[str, Any]:
        return {key: list(value) if isinstance(value, tuple) else value for key, value in dataclasses.asdict(self).items()}


def explain(observed: ObservedJob, evidence: Evidence, now: Time) -> Explanation:
    causes, remedies = _causes(observed, evidence, now)
    unmapped = image_events.unmapped(evidence.events)
    failure = observed.failure
    finished, succeeded = observed.job.status.finished, observed.job.status.is_true("Succeeded")
    waiting = _waiting(observed) if not finished else []
    sound = not waiting and failure is None and not observed.hang and not (evidence.unfinished or evidence.restarts)
    healthy = observed.state in ("Running", "Succeeded") and sound
    said = "\n".join(causes)
    known = "\n".join((said, *(condition.message for condition in observed.job.status.conditions)))
    return Explanation(
        job=f"{observed.kind.kind} {observed.job}",
        state=_state(observed, now),
        causes=tuple(causes),
        evidence=_evidence(observed, evidence),
        activity=replica_activity.lines(evidence.activities, now),
        pods=tuple(line for line in waiting if not _is_said(line, said)),
        warnings=(*map(str, unmapped), *(() if succeeded else event_warnings.unsaid(evidence.events, known, now))),
        remedies=tuple(dict.fromkeys(filter(None, (*remedies, *(each.remedy for each in unmapped))))),
        commands=_see_also(observed, evidence, healthy=healthy),
    )


def _evidence(observed: ObservedJob, evidence: Evidence) -> tuple[str, ...]:
    """Of the failure; else of the first replica that printed an exception and still runs; else of the last restart."""
    diagnosis = failures.diagnose(observed, evidence.ends)
    if diagnosis is not None and not observed.job.status.is_true("Succeeded"):
        return diagnosis.evidence
    if evidence.unfinished:
        return evidence.unfinished[0].exception.evidence
    return evidence.restarts.found.evidence if evidence.restarts is not None else ()


def _waiting(observed: ObservedJob) -> list[str]:
    """Replicas with the same reason share a line."""
    return [
        f"{pod_waiting_reasons.group('replicas', names)}: {word}"
        for word, names in pod_waiting_reasons.replicas_by_reason(observed).items()
    ]


def _is_said(line: str, said: str) -> bool:
    """Whether the causes contain the reason of the replicas. The reason of the operator has other words before the message."""
    reason = line.partition(": ")[2]
    return reason.removeprefix(f"{pod_waiting_reasons.UNSCHEDULABLE}: ") in said


def _state(observed: ObservedJob, now: Time) -> str:
    moment = since(observed.job.status) or observed.job.metadata.creation_timestamp
    return f"{observed.state} for {durations.age(moment, now)}" if moment else observed.state


def _causes(observed: ObservedJob, evidence: Evidence, now: Time) -> tuple[list[str], list[str]]:
    status, causes, remedies = observed.job.status, list[str](), list[str]()
    if status.is_true("Succeeded"):
        return failures.of_success(observed)
    if waits := _waits(observed, evidence, now):
        causes.append(waits[0])
        remedies.append(waits[1])
    causes += [each.sentence(now) for each in evidence.unfinished]
    if evidence.unfinished:
        remedies.append(advice.on_unfinished(observed.reference))
    elif observed.hang:
        causes.append(observed.hang)
        remedies.append(advice.on_hang(observed.reference, evidence.install))
    if evidence.restarts is not None:
        causes.append(evidence.restarts.sentence)
        remedies.append(advice.on_restarts(observed.reference, evidence.restarts.replica))
    if over := memory_limits.exceeded(evidence.activities):
        causes += over
        remedies.append(advice.on_unenforced_limit())
    causes += _elastic(observed)
    if observed.job.status.elastic is not None:
        remedies += scaling_advice.remedies(observed.job.status.elastic, observed.reference)
    causes += evidence.resource_usage
    failed = observed.failure.pod if observed.failure is not None else ""
    image_message = image_events.message(evidence.events, failed)
    runtime = advice.RuntimeEnvironment(image_message, evidence.images, evidence.install_package)
    found = failures.explain(observed, evidence.ends, runtime)
    causes, remedies = [*causes, *found.causes, *filter(None, [evidence.no_egress])], remedies + found.remedies
    return causes or [_no_problem(observed)], remedies


def _waits(observed: ObservedJob, evidence: Evidence, now: Time) -> tuple[str, str] | None:
    """What the job waits for, and the remedy. None: it does not wait."""
    why = observed.job.status.why
    if observed.job.suspended:
        return _suspended(observed, evidence)
    if why is not None and why != failure_summary.of(observed.job.status):
        message = pod_waiting_reasons.without_preemption(why.message)
        cause = f"{message} ({why.reason}, for {durations.age(why.since, now)})"
        if why.reason == failure_summary.REPLICA and failures.is_known_fault(observed, evidence.ends):
            return cause, ""  # its own remedy follows; the replica would fail again after a restart
        return cause, waiting_advice.on_waiting(why.reason, why.message, observed.reference)
    if word := pod_waiting_reasons.job_reason(observed):
        return word, waiting_advice.on_waiting("", word, observed.reference)
    return None


def _suspended(observed: ObservedJob, evidence: Evidence) -> tuple[str, str]:
    if evidence.admission is not None:
        return kueue_admission.explain(observed, evidence.admission)
    return "the job is suspended", f"Run `traincrew resume {observed.reference}`."


def _elastic(observed: ObservedJob) -> list[str]:
    """Why an elastic job has this number of workers, and who gets those that leave."""
    elastic = observed.job.status.elastic
    if elastic is None:
        return []
    if elastic.scaling == elasticity.MANUAL:
        return [f"the job is scaled by hand: {elastic.why.message} ({elastic.why.reason})"] if elastic.why is not None else []
    why = f": {elastic.why.message} ({elastic.why.reason})" if elastic.why is not None else ""
    lines = [f"{elastic.workers} workers, {elastic.scaling}{why}"]
    if elastic.last_resize is not None:
        lines.append(f"{elastic.last_resize.message} ({elastic.last_resize.reason})")
    for each in elastic.leaving:
        to = f" for {each.claimant}" if each.claimant else ""
        lines.append(f"worker {each.index} leaves{to} ({each.reason})")
    return lines


def _no_problem(observed: ObservedJob) -> str:
    if observed.state == "Running":
        return "the job is running; no problem found"
    if observed.state == "New":
        return "no operator has processed the job yet. Check that the operator is running."
    return "no problem found"


def _see_also(observed: ObservedJob, evidence: Evidence, *, healthy: bool) -> tuple[str, ...]:
    """Of a job without a problem: where the replicas are, for users who miss its output."""
    if healthy:
        return (f"traincrew stacks {observed.reference}",) if evidence.activities else ()
    return tuple(_commands(observed))


def _commands(observed: ObservedJob) -> list[str]:
    commands = [f"traincrew describe {observed.reference}"]
    if observed.failure is not None and observed.failure.pod:
        replica = observed.failure.pod.removeprefix(f"{observed.job.name}-")
        again = [pod for pod in observed.pods if pod.name == observed.failure.pod and _restarted(pod)]
        commands.insert(0, f"traincrew logs {observed.reference} --replica {replica}{' --previous' if again else ''}")
    return commands


def _restarted(pod: objects.Pod) -> bool:
    return any(container.restart_count for container in pod.status.container_statuses)


def text(explanation: Explanation) -> str:
    lines = [f"{explanation.job}: {explanation.state}", "", *_list("what happened", explanation.causes)]
    if explanation.evidence:
        lines += ["evidence", *(f"  | {line}" for line in explanation.evidence), ""]
    lines += _list("activity", explanation.activity)
    lines += [*_list("pods that are not running", explanation.pods), *_list("warnings", explanation.warnings)]
    lines += [*_list("what to do", explanation.remedies), *_list("see also", explanation.commands)]
    return "\n".join(lines).rstrip("\n")


def _list(title: str, entries: Sequence[str]) -> list[str]:
    return [title, *(f"  {entry}" for entry in entries), ""] if entries else []
