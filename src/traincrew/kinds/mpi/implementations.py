"""The MPI implementations of v2beta1: how each learns the hosts, and how it reaches them by SSH."""

from __future__ import annotations

from typing import NamedTuple

from traincrew.kinds.hosts import HOSTFILE
from traincrew.kinds.replica import Env
from traincrew.model import jobs

_SSH_ARGS = "-o ConnectionAttempts=10"


class Implementation(NamedTuple):
    env: Env
    """Variables of the launcher."""
    slots_variable: str = ""
    """The variable of the launcher that has the number of processes per host."""
    default_env: Env = {}
    """Variables of the launcher, unless the template sets them."""
    host_line: str = "{host}:{slots}\n"
    """A line of the host file."""


IMPLEMENTATIONS = {
    "OpenMPI": Implementation(
        {
            "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
            "OMPI_MCA_orte_default_hostfile": HOSTFILE,
            "OMPI_MCA_plm_rsh_args": _SSH_ARGS,
        },
        "OMPI_MCA_orte_set_default_slots",
        # Open MPI 5 reads only these names. Without them every rank would run on the launcher, without an error.
        {"PRTE_MCA_prte_default_hostfile": HOSTFILE, "PRTE_MCA_plm_ssh_args": _SSH_ARGS},
        "{host} slots={slots}\n",
    ),
    "Intel": Implementation(
        {"I_MPI_HYDRA_HOST_FILE": HOSTFILE, "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": _SSH_ARGS}, "I_MPI_PERHOST"
    ),
    "MPICH": Implementation({"HYDRA_HOST_FILE": HOSTFILE, "HYDRA_LAUNCH_EXTRA_ARGS": _SSH_ARGS}),
}


def of(job: jobs.Job) -> Implementation:
    return IMPLEMENTATIONS.get(job.spec.mpi_implementation, IMPLEMENTATIONS["OpenMPI"])
