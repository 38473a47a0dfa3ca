"""The job that `traincrew run --kind MPIJob -- COMMAND` makes: workers, and a launcher that starts the command on them."""

from __future__ import annotations

from traincrew.kinds import job_from_command
from traincrew.kinds.hosts import DISCOVERY_SCRIPT, HOSTFILE, MOUNT
from traincrew.kinds.mpi.launch_command import LAUNCHERS

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

ELASTIC_SCRIPT = """\
case $(hostname -i) in
127.*) interface=lo ;;
*) interface=$(awk '$2 == "00000000" {print $1; exit}' /proc/net/route) ;;
esac
exec horovodrun ${interface:+--network-interfaces "$interface"} "$@"
"""
"""Without the name of the network interface, horovodrun does not start before it has compared those of two workers."""


def from_command(request: job_from_command.CommandRequest) -> job_from_command.JobOutline:
    """Idle workers, and a launcher that starts the command on them."""
    per_worker = max(request.gpus, 1)
    command = _launch(request, per_worker)
    launcher = job_from_command.RoleOutline("Launcher", 1, command, trains=False)
    workers = job_from_command.RoleOutline("Worker", request.workers)
    return job_from_command.JobOutline((launcher, workers), {"slotsPerWorker": per_worker}, RUN_ENV, _programs(command))


def _programs(command: job_from_command.Command) -> tuple[str, ...]:
    scripts = {RUN_SCRIPT: "mpirun", ELASTIC_SCRIPT: "horovodrun"}
    return tuple(program for script, program in scripts.items() if script in command)


def _launch(request: job_from_command.CommandRequest, per_worker: int) -> job_from_command.Command:
    if request.command[0].rpartition("/")[2] in LAUNCHERS:
        return request.command
    processes = str(request.workers * per_worker)
    if request.elastic is None:
        return ("sh", "-ec", RUN_SCRIPT, "mpirun", "-n", processes, *request.command)
    low, high = (str(bound * per_worker) for bound in request.elastic)
    script = ("--host-discovery-script", DISCOVERY_SCRIPT)
    bounds = ("-np", processes, "--min-np", low, "--max-np", high)
    return ("sh", "-c", ELASTIC_SCRIPT, "horovodrun", *bounds, *script, *request.command)
