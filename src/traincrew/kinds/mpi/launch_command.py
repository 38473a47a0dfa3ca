"""The command of the launcher: values that are allowed but do not fit the workers of the job."""

from __future__ import annotations

import re

from traincrew.kinds import container_commands
from traincrew.kinds.horovod import horovodrun, worker_bounds
from traincrew.kinds.hosts import slots, trains_in_launcher
from traincrew.kinds.rule import Violation, unenforced
from traincrew.model import jobs

LAUNCHERS = ("mpirun", "mpiexec", "horovodrun", "orterun", "prterun")
_LAUNCH = re.compile(rf"\b(?:{'|'.join(LAUNCHERS)})\b")


def advise(job: jobs.Job) -> list[Violation]:
    if "Launcher" not in job.roles:
        return []
    hosts = job.count("Worker") + (1 if trains_in_launcher(job) else 0)
    message = _more_processes_than_slots(job, hosts)
    if not message and hosts == 1 and horovodrun.waits_for_second_host(job):
        message = (
            "horovodrun waits for a second worker before it starts: scale the job to 2 workers, or add "
            "--network-interfaces eth0 to its command"
        )
    found = [unenforced("spec.mpiReplicaSpecs[Launcher].template.spec.containers[0]", message)] if message else []
    return [*found, *worker_bounds.contradictions(job)]


def _more_processes_than_slots(job: jobs.Job, hosts: int) -> str:
    """mpirun fails, horovodrun waits for hosts that never appear."""
    words = container_commands.words(job.roles["Launcher"].containers[:1])
    launch = next((index for index, word in enumerate(words) if _LAUNCH.search(word)), len(words))
    requested, available = container_commands.number(words[launch:], ("-np", "--np", "-n")), hosts * slots(job)
    if requested is None or requested <= available:
        return ""
    return f"the launcher's command starts {requested} processes, but the job has {available} slots (workers × slotsPerWorker)"
