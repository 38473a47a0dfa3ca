"""The command of the launcher: how many processes it starts, and whether it is Horovod Elastic, which polls its hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from traincrew.kinds import elasticity
from traincrew.kinds.mpi.spec import gpu_launcher, slots
from traincrew.kinds.replica import Manifest
from traincrew.kinds.rule import Violation, unenforced
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
LAUNCHERS = ("mpirun", "mpiexec", "horovodrun", "orterun", "prterun")
_DISCOVERY = re.compile(r"--host-discovery-script|discover_hosts")
_LAUNCH = re.compile(rf"\b(?:{'|'.join(LAUNCHERS)})\b")
_HOROVODRUN = re.compile(r"\bhorovodrun\b")
NUMBER = ("-np", "--num-proc")
MINIMUM = ("--min-np", "--min-num-proc")
MAXIMUM = ("--max-np", "--max-num-proc")
_VARIABLE = re.compile(r"""["']?\$(?:\((\w+)\)|\{(\w+)\}|(\w+))["']?""")
PATIENT_ENV = {"HOROVOD_ELASTIC_TIMEOUT": "86400", "HOROVOD_START_TIMEOUT": "86700"}
"""A job with fewer workers than it needs waits for capacity. The default is to fail after 600 s."""


def is_elastic(job: jobs.Job) -> bool:
    return "Launcher" in job.roles and _DISCOVERY.search(" ".join(_words(job))) is not None


def horovod_env(job: jobs.Job) -> dict[str, str]:
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
    words = _words(job, first_container=True)
    if not any(word.startswith("--host-discovery-script") for word in words):
        return None
    return _workers(job, words, (MINIMUM, NUMBER))


def _words(job: jobs.Job, *, first_container: bool = False) -> list[str]:
    """The words of the command. One of its strings may be a shell script of many words."""
    containers = job.roles["Launcher"].containers[: 1 if first_container else None]
    return [word for container in containers for word in _words_of(container)]


def _words_of(container: Manifest) -> list[str]:
    """A word that is a variable of the container, as `$(MIN_NP)` or for a shell `$MIN_NP`, is replaced by its value."""
    values = {each.get("name"): each.get("value") for each in container.get("env") or []}
    strings = (text for key in ("command", "args") for text in container.get(key) or [])
    return [_expanded(word, values) for text in strings for word in str(text).split()]


def _expanded(word: str, values: Mapping[str | None, str | None]) -> str:
    name, equals, value = word.rpartition("=")
    variable = _VARIABLE.fullmatch(value)
    known = values.get(next(filter(None, variable.groups()))) if variable is not None else None
    return word if known is None else f"{name}{equals}{known}"


def processes(job: jobs.Job, flags: tuple[str, ...]) -> int | None:
    """The number of processes that one of the flags names."""
    return _flag(_words(job), flags)


def _workers(job: jobs.Job, words: list[str], flags: tuple[tuple[str, ...], ...]) -> int:
    """The number of processes, divided by the slots of a worker and rounded up."""
    values = (value for names in flags if (value := _flag(words, names)) is not None)
    return max(-(-next(values, 1) // max(slots(job), 1)), 1)


def _flag(words: list[str], names: tuple[str, ...]) -> int | None:
    for index, word in enumerate(words):
        name, _, value = word.partition("=")
        if name in names:
            value = value or (words[index + 1] if index + 1 < len(words) else "")
            if value.isdecimal():
                return int(value)
    return None


def advise(job: jobs.Job) -> list[Violation]:
    if "Launcher" not in job.roles:
        return []
    hosts = job.count("Worker") + (1 if trains_in_launcher(job) else 0)
    message = _more_processes_than_slots(job, hosts) or _fewer_hosts_than_horovod_needs(job, hosts)
    return [unenforced("spec.mpiReplicaSpecs[Launcher].template.spec.containers[0]", message)] if message else []


def _more_processes_than_slots(job: jobs.Job, hosts: int) -> str:
    """mpirun fails, horovodrun waits for hosts that never appear."""
    requested, available = _processes(job), hosts * slots(job)
    if requested is None or requested <= available:
        return ""
    return f"the launcher's command starts {requested} processes, but the job has {available} slots (workers × slotsPerWorker)"


def _fewer_hosts_than_horovod_needs(job: jobs.Job, hosts: int) -> str:
    """Horovod Elastic compares the network interfaces of two hosts before it starts a process, unless they are named."""
    if hosts != 1 or not is_elastic(job) or any(word.startswith("--network-interface") for word in _words(job)):
        return ""
    return (
        "horovodrun waits for a second worker before it starts: scale the job to 2 workers, or add --network-interfaces eth0 "
        "to its command"
    )


def trains_in_launcher(job: jobs.Job) -> bool:
    return bool(job.spec.run_launcher_as_worker) or gpu_launcher(job)


def _processes(job: jobs.Job) -> int | None:
    words = _words(job, first_container=True)
    launch = next((index for index, word in enumerate(words) if _LAUNCH.search(word)), len(words))
    return _flag(words[launch:], ("-np", "--np", "-n"))
