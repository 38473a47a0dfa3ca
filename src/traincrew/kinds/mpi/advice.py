"""What is allowed in an MPIJob but hardly meant."""

from __future__ import annotations

import re

from traincrew.kinds.kind import Fault
from traincrew.kinds.mpi import files
from traincrew.kinds.mpi.spec import slots
from traincrew.model import jobs

_LAUNCH = re.compile(r"\b(?:mpirun|mpiexec|horovodrun)\b")
_PROCESSES = re.compile(r"\s(?:-np|--np|-n)\s+([0-9]+)(?:\s|$)")


def advise(job: jobs.Job) -> list[Fault]:
    """More processes than slots: mpirun gives up, horovodrun waits for hosts that never come."""
    if "Launcher" not in job.roles:
        return []
    wanted, offered = _processes(job), _slots(job)
    if wanted is None or wanted <= offered:
        return []
    message = f"the launcher's command asks for {wanted} processes, the job has {offered} slots (workers × slotsPerWorker)"
    return [Fault(path="spec.mpiReplicaSpecs[Launcher].template.spec.containers[0]", message=message, server=False)]


def _processes(job: jobs.Job) -> int | None:
    container = next(iter(job.roles["Launcher"].containers), {})
    words = " ".join(str(word) for word in [*(container.get("command") or []), *(container.get("args") or [])])
    launch = _LAUNCH.search(words)
    found = _PROCESSES.search(words, launch.end()) if launch else None
    return int(found[1]) if found else None


def _slots(job: jobs.Job) -> int:
    hosts = job.count("Worker") + (1 if job.spec.run_launcher_as_worker or files.gpu_launcher(job) else 0)
    return hosts * slots(job)
