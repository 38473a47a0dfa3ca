"""The command of the launcher: how many processes it starts, and whether it is Horovod Elastic, which polls its hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from traincrew.kinds import elasticity, job_from_command
from traincrew.kinds.mpi.spec import HOSTFILE, MOUNT, gpu_launcher, slots
from traincrew.kinds.replica import Manifest
from traincrew.kinds.rule import Violation, unenforced
from traincrew.model import jobs

DRAIN_SECONDS = 30.0
"""Horovod polls its hosts every second, workers learn of a change at their next commit, then a new ring is formed."""
ELASTIC_ENV = {"HOROVOD_GLOO_TIMEOUT_SECONDS": "300"}
"""The other workers wait this long for one that joins. The default, 30 s, is shorter than some imports; then all would abort."""
LAUNCHERS = ("mpirun", "mpiexec", "horovodrun", "orterun", "prterun")
_DISCOVERY = re.compile(r"--host-discovery-script|discover_hosts")
_LAUNCH = re.compile(rf"\b(?:{'|'.join(LAUNCHERS)})\b")
NUMBER = ("-np", "--num-proc")
MINIMUM = ("--min-np", "--min-num-proc")
MAXIMUM = ("--max-np", "--max-num-proc")
_VARIABLE = re.compile(r"""["']?\$(?:\((\w+)\)|\{(\w+)\}|(\w+))["']?""")
PATIENT_ENV = {"HOROVOD_ELASTIC_TIMEOUT": "86400"}
"""A job with fewer workers than it needs waits for capacity. The default is to fail after 600 s."""


def is_elastic(job: jobs.Job) -> bool:
    return "Launcher" in job.roles and _DISCOVERY.search(" ".join(_words(job))) is not None


def elastic_env(job: jobs.Job) -> dict[str, str]:
    """Variables of the launcher, which passes them on to the workers. The flags of horovodrun override them."""
    if not is_elastic(job):
        return {}
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
    """More processes than slots: mpirun fails, horovodrun waits for hosts that never appear."""
    if "Launcher" not in job.roles:
        return []
    requested = _processes(job)
    hosts = job.count("Worker") + (1 if trains_in_launcher(job) else 0)
    available = hosts * slots(job)
    if requested is None or requested <= available:
        return []
    message = f"the launcher's command starts {requested} processes, but the job has {available} slots (workers × slotsPerWorker)"
    return [unenforced("spec.mpiReplicaSpecs[Launcher].template.spec.containers[0]", message)]


def trains_in_launcher(job: jobs.Job) -> bool:
    return bool(job.spec.run_launcher_as_worker) or gpu_launcher(job)


def _processes(job: jobs.Job) -> int | None:
    words = _words(job, first_container=True)
    launch = next((index for index, word in enumerate(words) if _LAUNCH.search(word)), len(words))
    return _flag(words[launch:], ("-np", "--np", "-n"))


RUN_ENV = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # Pods on the same node each see all of its cores: with binding, all ranks would share the first core.
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}

RUN_SCRIPT = f"""\
case $(mpirun --version 2>&1) in
*HYDRA* | *Intel*MPI*)
  hosts=$(mktemp)
  sed 's/ slots=/:/' {HOSTFILE} > "$hosts"
  address=$(hostname -i | cut -d ' ' -f 1)
  export I_MPI_HYDRA_IFACE="${{I_MPI_HYDRA_IFACE:-eth0}}" I_MPI_PERHOST="$(sed -n '1s/.*://p' "$hosts")"
  exec mpirun -localhost "$address" -launcher rsh -launcher-exec {MOUNT}/kubexec.sh -f "$hosts" "$@" ;;
esac
exec mpirun "$@"
"""
"""Open MPI learns the hosts and the remote shell from variables. MPICH and Intel MPI need them as arguments, with an address of
the launcher that the workers can reach; Intel MPI finds that address by its interface, and ignores the slots of the hosts.
Without them they would run every rank on the launcher, without an error."""


def from_command(request: job_from_command.CommandRequest) -> job_from_command.JobOutline:
    """Idle workers, and a launcher that starts the command on them."""
    per_worker = max(request.gpus, 1)
    command = _launch(request, per_worker)
    launcher = job_from_command.RoleOutline("Launcher", 1, command, trains=False)
    workers = job_from_command.RoleOutline("Worker", request.workers)
    programs = ("mpirun",) if RUN_SCRIPT in command else ()
    return job_from_command.JobOutline((launcher, workers), {"slotsPerWorker": per_worker}, RUN_ENV, programs)


def _launch(request: job_from_command.CommandRequest, per_worker: int) -> job_from_command.Command:
    if request.command[0].rpartition("/")[2] in LAUNCHERS:
        return request.command
    processes = str(request.workers * per_worker)
    if request.elastic is None:
        return ("sh", "-ec", RUN_SCRIPT, "mpirun", "-n", processes, *request.command)
    low, high = (str(bound * per_worker) for bound in request.elastic)
    script = ("--host-discovery-script", f"{MOUNT}/discover_hosts.sh")
    return ("horovodrun", "-np", processes, "--min-np", low, "--max-np", high, *script, *request.command)
