"""The flags of horovodrun in the command of a launcher, and whether it is Horovod Elastic, which polls its hosts."""

from __future__ import annotations

import re

from traincrew.kinds import container_commands, elasticity
from traincrew.kinds.hosts import slots
from traincrew.model import jobs

DRAIN_SECONDS = 30.0
"""Horovod polls its hosts every second, workers learn of a change at their next commit, then a new ring is formed."""
START_ENV = {"HOROVOD_START_TIMEOUT": "300"}
"""Limit for the first contact with all workers. The default, 30 s, is too short for a busy node; then the launcher would fail."""
ELASTIC_ENV = {
    # The other workers wait this long for one that joins. The default, 30 s, is shorter than some imports; then all would abort.
    "HOROVOD_GLOO_TIMEOUT_SECONDS": "300",
    # The time that the launcher waits for its workers counts too: HOROVOD_ELASTIC_TIMEOUT, 600 s by default.
    "HOROVOD_START_TIMEOUT": "900",
}
PATIENT_ENV = {"HOROVOD_ELASTIC_TIMEOUT": "86400", "HOROVOD_START_TIMEOUT": "86700"}
"""A job with fewer workers than it needs waits for capacity. The default is to fail after 600 s."""
NUMBER = ("-np", "--num-proc")
MINIMUM = ("--min-np", "--min-num-proc")
MAXIMUM = ("--max-np", "--max-num-proc")
_DISCOVERY = re.compile(r"--host-discovery-script|discover_hosts")
_HOROVODRUN = re.compile(r"\bhorovodrun\b")


def is_elastic(job: jobs.Job) -> bool:
    return "Launcher" in job.roles and _DISCOVERY.search(" ".join(_words(job))) is not None


def env(job: jobs.Job) -> dict[str, str]:
    """Variables of the launcher, which passes them on to the workers. The flags of horovodrun override them."""
    if not is_elastic(job):
        return START_ENV if any(_HOROVODRUN.search(word) for word in _words(job)) else {}
    return {**ELASTIC_ENV, **PATIENT_ENV} if elasticity.is_automatic(job) else ELASTIC_ENV


def drain_seconds(job: jobs.Job) -> float:
    return DRAIN_SECONDS if is_elastic(job) else 0.0


def initial_workers(job: jobs.Job) -> int:
    """Number of workers with which an elastic launcher starts its ranks: -np, else --min-np."""
    return _workers(job, _words(job), (NUMBER, MINIMUM))


def needed_workers(job: jobs.Job) -> int:
    """Number of workers, including a launcher that trains, without which Horovod does not run."""
    return _workers(job, _words(job), (MINIMUM, NUMBER))


def minimum_workers(job: jobs.Job) -> int | None:
    """Number of workers that an elastic launcher needs: --min-np, else -np. None: it has no host discovery script."""
    words = container_commands.words(job.roles["Launcher"].containers[:1])
    if not any(word.startswith("--host-discovery-script") for word in words):
        return None
    return _workers(job, words, (MINIMUM, NUMBER))


def processes(job: jobs.Job, flags: tuple[str, ...]) -> int | None:
    """The number of processes that one of the flags names."""
    return container_commands.number(_words(job), flags)


def waits_for_second_host(job: jobs.Job) -> bool:
    """Horovod Elastic compares the network interfaces of two hosts before it starts a process, unless they are named."""
    return is_elastic(job) and not any(word.startswith("--network-interface") for word in _words(job))


def _words(job: jobs.Job) -> list[str]:
    return container_commands.words(job.roles["Launcher"].containers)


def _workers(job: jobs.Job, words: list[str], flags: tuple[tuple[str, ...], ...]) -> int:
    """The number of processes, divided by the slots of a worker and rounded up."""
    values = (value for names in flags if (value := container_commands.number(words, names)) is not None)
    return max(-(-next(values, 1) // max(slots(job), 1)), 1)
