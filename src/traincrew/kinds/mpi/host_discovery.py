"""The hosts that an elastic launcher finds, spelled so that Horovod does what is meant.

Horovod never again uses a host on which a process has failed, and knows a host by the spelling of its name. A worker that comes
back therefore comes back under a new spelling, which leads to the same pod.

Horovod tells its ranks of a change in the list when it sees the change; if rank 0 is still starting then, nobody ever hears of
it. So while there is a worker that came late, the list holds one more spelling, without slots, that changes every few seconds:
Horovod compares its list with the ring again, and does nothing if they agree.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable

from traincrew.kinds.mpi import elastic
from traincrew.kinds.mpi.spec import launcher_name, reachable, worker_names
from traincrew.model import jobs, naming, objects
from traincrew.model.observed import Observed

AGAIN = ".again-"
REMINDER = 5
"""Seconds between two changes of the list."""
Spell = Callable[[str, str], str]


def exec_spelling(name: str, variant: str) -> str:
    """kubexec.sh takes the end off again."""
    return f"{name}{AGAIN}{variant}"


def dns_spelling(host: str, variant: str) -> str:
    """Names in DNS mean the same in capital letters."""
    bits = int.from_bytes(hashlib.sha256(variant.encode()).digest())
    return "".join(letter.upper() if bits >> place & 1 else letter for place, letter in enumerate(host))


def hosts(job: jobs.Job, observed: Observed, spell: Spell, host: Callable[[str], str] = str) -> list[str]:
    """Workers that can be reached, in the order of their index."""
    names = reachable(job, observed.pods)
    if not elastic.is_elastic(job):
        return [host(name) for name in names]
    pods = {pod.name: pod for pod in observed.pods}
    return [spell(host(name), variant) if (variant := _variant(pods[name])) else host(name) for name in names]


def _variant(pod: objects.Pod) -> str:
    """Which of the lives of a worker this is; empty for the first."""
    restarts = sum(status.restart_count for status in pod.status.container_statuses)
    if not restarts and naming.RETURNED not in pod.metadata.annotations:
        return ""
    return f"{pod.metadata.uid[:8]}-{restarts}"


def reminder(job: jobs.Job, observed: Observed, spell: Spell, host: Callable[[str], str] = str) -> str:
    """Shell that adds the changing line; empty while nobody can have been overlooked."""
    names = reachable(job, observed.pods)
    if not names or not elastic.is_elastic(job) or not _somebody_came_late(job, observed, names):
        return ""
    first = host(names[0])
    even, odd = spell(first, "even"), spell(first, "odd")
    return f"if [ $(($(date +%s) / {REMINDER} % 2)) = 0 ]; then echo {even}:0; else echo {odd}:0; fi"


def _somebody_came_late(job: jobs.Job, observed: Observed, names: list[str]) -> bool:
    """Whether a worker got ready after the launcher had begun, other than those without whom it would not begin."""
    began = _launched(job, observed)
    if began is None:
        return False
    pods = [pod for pod in observed.pods if pod.name in names]
    if any(_variant(pod) for pod in pods):
        return True
    arrivals = sorted(moment for pod in pods if (moment := _arrival(pod)) is not None)
    return any(moment >= began for moment in arrivals[elastic.starts_with(job) :])


def _launched(job: jobs.Job, observed: Observed) -> dt.datetime | None:
    workers = frozenset(worker_names(job))
    for pod in observed.pods:
        if pod.active and pod.name not in workers and pod.name.startswith(launcher_name(job)):
            running = [status.state.running for status in pod.status.container_statuses]
            return next((state.started_at for state in running if state is not None), None)
    return None


def _arrival(pod: objects.Pod) -> dt.datetime | None:
    ready = pod.status.condition("Ready")
    return ready.last_transition_time if ready is not None else None
