"""The hosts of an elastic launcher, under names that make Horovod use them.

Horovod blacklists a host on which a process has failed, and identifies a host by its name. A worker that returns therefore gets
an alias: a different spelling of the name that resolves to the same pod.

Horovod notifies its ranks of a change in the host list once, when it sees the change. If rank 0 is still starting at that time,
the notification is lost. So while there is a worker that became ready late, the list holds one more alias, without slots, that
changes every few seconds: Horovod compares the list with the ring again, and does nothing if they agree.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from typing import NamedTuple

from traincrew.kinds.horovod import horovodrun, lost_peers
from traincrew.kinds.hosts import launcher_name, leaving_workers, reachable, trains_in_launcher, worker_names
from traincrew.model import jobs, naming, objects
from traincrew.model.observed import Observed

ALIAS_SUFFIX = ".again-"
REFRESH_SECONDS = 5
"""Time between two changes of the list."""


class HostNames(NamedTuple):
    """The names by which a launcher knows its workers."""

    host: Callable[[str], str]
    """The host name of a pod."""
    alias: Callable[[str, str], str]
    """Another spelling of a host name, different for each variant."""


def exec_alias(name: str, variant: str) -> str:
    """kubexec.sh removes the suffix."""
    return f"{name}{ALIAS_SUFFIX}{variant}"


def dns_alias(host: str, variant: str) -> str:
    """DNS names are case-insensitive."""
    bits = int.from_bytes(hashlib.sha256(variant.encode()).digest())
    return "".join(letter.upper() if bits >> position & 1 else letter for position, letter in enumerate(host))


POD_NAMES = HostNames(str, exec_alias)


def echo_lines(job: jobs.Job, observed: Observed, names: HostNames, slots: str = "") -> list[str]:
    """Shell code that prints the reachable workers by index, and the changing alias if a notification may have been lost."""
    pods = reachable(job, observed.pods)
    if not horovodrun.is_elastic(job):
        return [f"echo {names.host(pod.name)}{slots}" for pod in pods]
    lines = [f"echo {_spelling(pod, names)}{slots}" for pod in (*pods, *_still_needed(job, observed, len(pods)))]
    return [*lines, _refresh_line(names.host(pods[0].name), names)] if _has_late_worker(job, observed, pods) else lines


def lost_lines(lost: list[objects.Pod], names: HostNames, slots: str) -> list[str]:
    """Shell code that prints lost workers until Horovod knows that they have failed."""
    return [lost_peers.listed_until_ended(pod, f"echo {_spelling(pod, names)}{slots}") for pod in lost]


def _still_needed(job: jobs.Job, observed: Observed, reachable_workers: int) -> list[objects.Pod]:
    """Leaving workers that stay in the list because Horovod has fewer than its minimum without them.

    Below its minimum Horovod forms no ring, so nobody could leave in order: all ranks would wait for it, and those that end
    meanwhile would be taken for failed ranks of the next ring. As it is, they end like a failure, before Horovod begins to wait.
    """
    launchers = 1 if trains_in_launcher(job) else 0
    lacking = horovodrun.needed_workers(job) - launchers - reachable_workers
    if lacking <= 0 or _launcher_started(job, observed) is None:
        return []
    return leaving_workers(job, observed.pods)[:lacking]


def _spelling(pod: objects.Pod, names: HostNames) -> str:
    host, variant = names.host(pod.name), _variant(pod)
    return names.alias(host, variant) if variant else host


def _refresh_line(host: str, names: HostNames) -> str:
    even, odd = names.alias(host, "even"), names.alias(host, "odd")
    return f"if [ $(($(date +%s) / {REFRESH_SECONDS} % 2)) = 0 ]; then echo {even}:0; else echo {odd}:0; fi"


def _variant(pod: objects.Pod) -> str:
    """Identifies the incarnation of a worker. Empty for the first."""
    restarts = sum(status.restart_count for status in pod.status.container_statuses)
    if not restarts and naming.REPLACES_LOST_POD not in pod.metadata.annotations:
        return ""
    return f"{pod.metadata.uid[:8]}-{restarts}"


def _has_late_worker(job: jobs.Job, observed: Observed, pods: list[objects.Pod]) -> bool:
    """Whether a worker became ready after the launcher started, other than those that the launcher waits for."""
    started = _launcher_started(job, observed)
    if started is None:
        return False
    if any(_variant(pod) for pod in pods):
        return True
    times = sorted(time for pod in pods if (time := _ready_since(pod)) is not None)
    return any(time >= started for time in times[horovodrun.initial_workers(job) :])


def _launcher_started(job: jobs.Job, observed: Observed) -> dt.datetime | None:
    workers = frozenset(worker_names(job))
    for pod in observed.pods:
        if pod.active and pod.name not in workers and pod.name.startswith(launcher_name(job)):
            running = [status.state.running for status in pod.status.container_statuses]
            return next((state.started_at for state in running if state is not None), None)
    return None


def _ready_since(pod: objects.Pod) -> dt.datetime | None:
    ready = pod.status.condition("Ready")
    return ready.last_transition_time if ready is not None else None
