"""The page of `traincrew describe`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traincrew.apimachinery import durations
from traincrew.cli.render import tables
from traincrew.inspection import events, explanation, failures, image_events, pod_waiting_reasons
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import WorkerSeconds

SHOWN_EVENTS = 20


def describe(observed: ObservedJob, evidence: explanation.Evidence, now: Time) -> str:
    sections = (
        _summary(observed, now, exceptions=bool(evidence.unfinished)),
        _replicas(observed),
        _conditions(observed, now),
        _pods(observed, now),
        "\n".join(each.sentence(now) for each in evidence.unfinished),
        _failure(observed, evidence),
        "\n".join(f"{each}\n{each.remedy}" for each in image_events.unmapped(evidence.events)),
    )
    return "\n\n".join(filter(None, (*sections, _events(evidence.events, now))))


def _created(moment: Time | None, now: Time) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC ({durations.age(moment, now)} ago)" if moment is not None else "-"


def _summary(observed: ObservedJob, now: Time, *, exceptions: bool) -> str:
    """exceptions: those of running replicas explain why the job hangs, and follow below."""
    job, status = observed.job, observed.job.status
    policy = job.policy
    rows = [
        ["name", job.name],
        ["namespace", job.namespace],
        ["kind", f"{observed.kind.kind} ({observed.kind.version})"],
        ["state", observed.state],
        ["created", _created(job.metadata.creation_timestamp, now)],
        *([["deleted", _created(observed.deleted, now)]] if observed.deleted is not None else []),
        ["duration", tables.duration(observed, now)],
        ["restarts", f"{status.restarts.charged} after failures, {status.restarts.disruptions} after disruptions"],
        ["backoff limit", _or_none(policy.backoff_limit)],
        ["deadline", f"{policy.active_deadline_seconds} s" if policy.active_deadline_seconds else "none"],
        ["clean pod policy", policy.clean_pod_policy or "default"],
        [
            "TTL after finish",
            f"{policy.ttl_seconds_after_finished} s" if policy.ttl_seconds_after_finished is not None else "none",
        ],
    ]
    if status.elastic is not None:
        why = f": {status.elastic.why.message}" if status.elastic.why is not None else ""
        rows.append(["workers", f"{status.elastic.workers}, {status.elastic.scaling}{why}"])
        if status.elastic.last_resize is not None:
            rows.append(["last resize", f"{status.elastic.last_resize.message}, {_created(status.elastic.last_resize.at, now)}"])
    if status.worker_seconds is not None:
        rows.append(["worker time", _worker_time(status.worker_seconds, status.completion_time or now)])
    if reason := pod_waiting_reasons.job_reason(observed):
        rows.append(["waiting for", reason])
    if observed.hang and not exceptions:
        rows.append(["hang", observed.hang])
    return tables.table(rows)


def _worker_time(used: WorkerSeconds, now: Time) -> str:
    """Sums over all workers, such as `2h3m asked, 40m on idle capacity`."""
    words = {"asked": "asked", "surplus": "on idle capacity", "starting": "starting", "leaving": "leaving", "waiting": "waiting"}
    sums = used.at(now)
    return ", ".join(f"{durations.human(sums[part])} {word}" for part, word in words.items() if sums[part] >= 1) or "none"


def _or_none(value: object) -> str:
    return "none" if value is None else str(value)


def _replicas(observed: ObservedJob) -> str:
    rows = [["REPLICAS", "DESIRED", "ACTIVE", "SUCCEEDED", "FAILED", "RESTART POLICY", "IMAGE"]]
    for name, role in observed.job.roles.items():
        counted = observed.job.status.replica_statuses.get(name)
        numbers = [str(getattr(counted, field)) for field in ("active", "succeeded", "failed")] if counted else ["0"] * 3
        images = ", ".join(str(container.get("image", "")) for container in role.containers)
        rows.append([name, str(observed.job.count(name)), *numbers, role.restart_policy, images])
    return tables.table(rows)


def _conditions(observed: ObservedJob, now: Time) -> str:
    if not observed.job.status.conditions:
        return ""
    rows = [["CONDITION", "STATUS", "AGE", "REASON", "MESSAGE"]]
    for condition in observed.job.status.conditions:
        rows.append(
            [
                condition.type,
                condition.status,
                durations.age(condition.last_transition_time, now),
                condition.reason,
                condition.message,
            ]
        )
    return tables.table(rows)


def _pods(observed: ObservedJob, now: Time) -> str:
    if not observed.pods:
        return ""
    rows = [["POD", "PHASE", "RESTARTS", "NODE", "AGE", "EXIT", "WAITING FOR"]]
    for pod in observed.pods:
        restarts = sum(container.restart_count for container in pod.status.container_statuses)
        made = durations.age(pod.metadata.creation_timestamp, now)
        row = [
            pod.name,
            pod.status.phase,
            str(restarts),
            pod.spec.node_name or "-",
            made,
            _exits(pod),
            pod_waiting_reasons.pod_reason(pod),
        ]
        rows.append(row)
    return tables.table(rows)


def _exits(pod: objects.Pod) -> str:
    """The exit codes of the containers, of the current or the previous run."""
    exits = []
    for status in pod.status.container_statuses:
        for state in (status.state.terminated, status.last_state.terminated):
            if state is not None:
                exits.append(f"{state.exit_code} {state.reason}".strip())
                break
    return ", ".join(exits) or "-"


def _failure(observed: ObservedJob, evidence: explanation.Evidence) -> str:
    if observed.failure is None:
        return ""
    found = failures.explain(observed, evidence.ends)
    diagnosis = failures.diagnose(observed, evidence.ends)
    return "\n".join([*found.causes, *(f"  | {line}" for line in (diagnosis.evidence if diagnosis else ()))])


def _events(recorded: Sequence[events.ListedEvent], now: Time) -> str:
    rows = [["EVENT", "REASON", "AGE", "COUNT", "OBJECT", "MESSAGE"], *_event_rows(recorded, now)]
    return tables.table(rows) if len(rows) > 1 else ""


def _event_rows(recorded: Sequence[events.ListedEvent], now: Time) -> Iterator[list[str]]:
    for event in events.in_order(recorded)[-SHOWN_EVENTS:]:
        about = f"{event.involved_object.kind.lower()}/{event.involved_object.name}"
        yield [event.type, event.reason, durations.age(event.time, now), str(event.times), about, " ".join(event.message.split())]
