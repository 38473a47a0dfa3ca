"""An MPIJob out of one command: workers that wait, and a launcher that starts the command on them."""

from __future__ import annotations

from traincrew.kinds import job_from_command
from traincrew.kinds.mpi.spec import MOUNT

LAUNCHERS = ("mpirun", "mpiexec", "horovodrun", "orterun", "prterun")
ENV = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # Pods that share a machine each take it for their own: bound, all ranks would sit on the first core.
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}


def sketch(wish: job_from_command.Wish) -> job_from_command.Sketch:
    slots = max(wish.gpus, 1)
    parts = (
        job_from_command.Part("Launcher", 1, _command(wish, slots), trains=False),
        job_from_command.Part("Worker", wish.workers),
    )
    return job_from_command.Sketch(parts, {"slotsPerWorker": slots}, ENV)


def _command(wish: job_from_command.Wish, slots: int) -> job_from_command.Command:
    if wish.command[0].rpartition("/")[2] in LAUNCHERS:
        return wish.command
    if wish.elastic is None:
        return ("mpirun", "-n", str(wish.workers * slots), *wish.command)
    low, high = (str(bound * slots) for bound in wish.elastic)
    script = ("--host-discovery-script", f"{MOUNT}/discover_hosts.sh")
    return ("horovodrun", "-np", str(wish.workers * slots), "--min-np", low, "--max-np", high, *script, *wish.command)
