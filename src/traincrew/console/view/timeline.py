"""The phases of every replica over time, as far as the objects show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traincrew.console.contract.replicas import Phase, PhaseName, ReplicaTimeline
from traincrew.console.view.pods import ShownPod
from traincrew.inspection import pod_waiting_reasons
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import objects
from traincrew.model.meta import Time


def of_job(observed: ObservedJob, pods: Sequence[ShownPod]) -> list[ReplicaTimeline]:
    by_replica: dict[str, list[Phase]] = {}
    for pod in sorted(pods, key=lambda pod: str(pod.metadata.creation_timestamp)):
        by_replica.setdefault(observed.replica(pod), []).extend(phases(pod))
    return [ReplicaTimeline(replica=replica, phases=_joined(found)) for replica, found in by_replica.items()]


def phases(pod: objects.Pod) -> list[Phase]:
    """Pending until a node is found, Starting until a container runs, then the runs of the main container."""
    created = pod.metadata.creation_timestamp
    if created is None:
        return []
    marks = [_Mark("Pending", created, pod_waiting_reasons.pod_reason(pod))]
    scheduled = pod.status.condition("PodScheduled")
    if scheduled is not None and scheduled.status == "True":
        marks.append(_Mark("Starting", scheduled.last_transition_time or created, pod_waiting_reasons.pod_reason(pod)))
    main = pod.status.container_statuses[0] if pod.status.container_statuses else objects.ContainerStatus()
    marks += [mark for state in (main.last_state, main.state) for mark in _runs(state)]
    return _between(marks)


class _Mark:
    """The beginning of a phase."""

    def __init__(self, name: PhaseName, start: Time, text: str) -> None:
        self.name, self.start, self.text = name, start, text


def _runs(state: objects.ContainerState) -> Iterator[_Mark]:
    if state.running is not None and state.running.started_at is not None:
        yield _Mark("Running", state.running.started_at, "")
    ended = state.terminated
    if ended is None:
        return
    if ended.started_at is not None:
        yield _Mark("Running", ended.started_at, "")
    if ended.finished_at is not None:
        name: PhaseName = "Failed" if ended.exit_code else "Succeeded"
        yield _Mark(name, ended.finished_at, f"exit code {ended.exit_code}" + (f" ({ended.reason})" if ended.exit_code else ""))


def _between(marks: list[_Mark]) -> list[Phase]:
    """Each phase ends where the next begins. Clocks of nodes differ: no phase begins before the one before it."""
    found = list[Phase]()
    for number, mark in enumerate(marks):
        start = max(mark.start, found[-1].start) if found else mark.start
        following = marks[number + 1] if number + 1 < len(marks) else None
        ends = mark.name in ("Succeeded", "Failed") and following is None
        end = start if ends else max(following.start, start) if following is not None else None
        text = mark.text if end is None or mark.name in ("Succeeded", "Failed") else ""
        found.append(Phase(name=mark.name, start=start, end=end, text=text))
    return found


def _joined(found: list[Phase]) -> list[Phase]:
    """The phases of several pods of a replica: a pod that has a successor has ended."""
    joined = list[Phase]()
    for phase in found:
        if joined and joined[-1].end is None:
            last = joined.pop()
            joined.append(Phase(name=last.name, start=last.start, end=max(phase.start, last.start), text=last.text))
        joined.append(phase)
    return joined
