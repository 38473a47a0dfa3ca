"""Messages of mpirun: Open MPI with ORTE (version 4) and PRRTE (version 5), and Hydra of MPICH and Intel MPI."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer

_CHECK_RANK = "Check the output of rank {rank} before this message."
_DAEMONS = "Check that the workers run, that the host list names them, and that they have the same MPI at the same path."

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "mpi-root",
        r"(?P<program>mpirun|mpiexec|prterun|orterun) has detected an attempt to run as root",
        "Set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 in the launcher, or run it as another user.",
        "{program} refuses to run as root",
    ),
    Recognizer(
        "mpi-slots",
        r"There are not enough slots available in the system to satisfy the (?P<slots>\d+) slots that were requested",
        "Lower -np, or raise the number of workers or slotsPerWorker.",
        "mpirun was asked for {slots} processes, and the workers have fewer slots",
    ),
    Recognizer(
        "mpi-missing-program",
        r"(?P<mpirun>mpirun|prterun) was unable to (?:launch|find) the specified (?:application|executable)[^-]*?"
        r"Executable: (?P<file>\S+) Node: (?P<node>\S+)",
        "Check that {file} exists on the workers and is executable: its path is resolved there.",
        "{mpirun} cannot execute {file} on {node}",
    ),
    Recognizer(
        "mpi-missing-program",
        r"HYDU_create_process .*execvp error on file (?P<file>\S+) \((?P<error>[^)]+)\)",
        "Check that {file} exists on the workers and is executable: its path is resolved there.",
        "mpirun cannot execute {file}: {error}",
    ),
    Recognizer(
        "mpi-signal",
        r"(?:mpirun|prterun) noticed that process rank (?P<rank>\d+) with PID \d+ on node (?P<node>\S+) exited on "
        r"signal (?P<number>\d+) \((?P<signal>[^)]+)\)",
        "Check the memory of {node} and the native libraries of the program: the process did not end by itself.",
        "rank {rank} on {node} was ended by signal {number} ({signal})",
        significance="report",
    ),
    Recognizer(
        "mpi-signal",
        r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES = (?:RANK (?P<rank>\d+) )?PID \d+ RUNNING AT (?P<node>\S+) = "
        r"(?:KILLED BY SIGNAL|EXIT CODE): (?P<number>4|6|7|8|9|11|15)\b",
        "Check the memory of {node} and the native libraries of the program: the process did not end by itself.",
        "a process on {node} was ended by signal {number}",
        significance="report",
    ),
    Recognizer(
        "mpi-exit-code",
        r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES = (?:RANK (?P<rank>\d+) )?PID \d+ RUNNING AT (?P<node>\S+) = "
        r"EXIT (?:CODE|STATUS): (?P<code>\d+)",
        "Check the output of the process before this message.",
        "a process on {node} exited with code {code}",
        significance="report",
    ),
    Recognizer(
        "mpi-abort",
        r"MPI_ABORT was invoked on rank (?P<rank>\d+) in communicator [^\n]*\s+(?:with errorcode |Proc: [^\n]*\s+Errorcode: )"
        r"(?P<code>-?\d+)",
        _CHECK_RANK,
        "rank {rank} called MPI_Abort with error code {code}",
        significance="report",
    ),
    Recognizer(
        "mpi-abort",
        r"Abort\((?P<code>-?\d+)\) on node \d+ \(rank (?P<rank>\d+) in comm \d+\)",
        _CHECK_RANK,
        "rank {rank} called MPI_Abort with error code {code}",
        significance="report",
    ),
    Recognizer(
        "mpi-exit-code",
        r"(?:mpirun|prterun) detected that one or more processes exited with non-zero status, thus causing the job to be "
        r"terminated. The first process to do so was: Process name: \[\S+?,(?P<rank>\d+)\] Exit code: (?P<code>\d+)",
        _CHECK_RANK,
        "rank {rank} exited with code {code}",
        significance="report",
    ),
    Recognizer(
        "mpi-signal",
        r"^\[(?P<node>[^:\]\n]+):\d+\] \*\*\* Process received signal \*\*\*\s+\[\S+\] Signal: "
        r"(?P<signal>[^(\n]+) \((?P<number>\d+)\)",
        "Check the memory of {node} and the native libraries of the program: the process did not end by itself.",
        "a process on {node} was ended by signal {number} ({signal})",
        significance="report",
    ),
    Recognizer(
        "mpi-abort",
        r"prterun has exited due to process rank (?P<rank>\d+) with PID \d+ on node \S+ calling .abort.",
        _CHECK_RANK,
        "rank {rank} aborted the job",
        significance="report",
    ),
    Recognizer(
        "mpi-no-finalize",
        r"(?:mpirun|prterun) has exited due to process rank (?P<rank>\d+) with PID \d+ on node (?P<node>\S+) exiting improperly",
        "Check the end of rank {rank}: a process that has called MPI_Init must not end before MPI_Finalize, as with os._exit.",
        "rank {rank} on {node} exited without MPI_Finalize",
        significance="report",
    ),
    Recognizer(
        "mpi-lost-daemon",
        r"(?:ORTE|PRTE) has lost communication with a remote daemon\.[\s\S]*?Remote daemon: \S+ on node (?P<node>\S+)",
        "Check how {node} ended: `traincrew describe` shows its state.",
        "mpirun lost the connection to {node}",
        significance="consequence",
    ),
    Recognizer(
        "mpi-daemon",
        r"A daemon failed to report back after being spawned\.[\s\S]{0,900}?Remote host: (?P<node>\S+)",
        _DAEMONS,
        "mpirun cannot start its daemon on {node}, or has lost it",
        significance="report",
    ),
    Recognizer(
        "mpi-daemon",
        r"ORTE was unable to reliably start one or more daemons|An ORTE daemon has unexpectedly failed after launch|"
        r"A daemon \(pid \S+\) died unexpectedly|Launch proxy failed",
        _DAEMONS,
        "mpirun cannot start its daemons on the workers",
        significance="report",
    ),
    Recognizer(
        "mpi-daemon",
        r"\[mpiexec@\S+\] Error: Unable to run bstrap_proxy on (?P<node>\S+)",
        "Check that {node} runs, has the same MPI and reaches the launcher: set I_MPI_HYDRA_IFACE to the network "
        "interface of the pods, such as eth0.",
        "mpirun cannot start its daemon on {node}",
        significance="report",
    ),
    Recognizer(
        "mpi-peer-lost",
        r"An MPI communication peer process has unexpectedly disconnected|\*\*\* An error occurred in Socket closed",
        "Check which rank ended first, and whether it called MPI_Finalize.",
        "a process lost the connection to another rank",
        significance="consequence",
    ),
    Recognizer(
        "mpi-transport",
        r"PML (?P<component>\S+) cannot be selected",
        "Check the options --mca and the variables OMPI_MCA_pml and OMPI_MCA_btl: Open MPI of the workers has no {component}, or "
        "finds no device for it.",
        "Open MPI cannot use the transport {component}",
    ),
    Recognizer(
        "mpi-exit-code",
        r"Primary job terminated normally, but (?P<count>\d+) process(?:es)? returned a non-zero exit code",
        "Check the output of the ranks before this message.",
        "{count} process of mpirun returned a non-zero exit code",
        significance="report",
    ),
)
