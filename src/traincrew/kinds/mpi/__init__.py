"""MPIJob: a launcher that starts processes on workers, including Horovod, fixed and elastic.

Two versions with different behaviour in one CRD: in `v1` the launcher reaches its workers by `kubectl exec`, in `v2beta1` by SSH.
The defaults of the v2beta1 schema, such as sshAuthMountPath, identify a job that was created through v2beta1, unless its managed
fields say that it was created through v1. The operator records the version in the status when it first sees the job.
"""

from __future__ import annotations

import dataclasses

from traincrew.kinds.mpi import v1, v2beta1
from traincrew.kinds.mpi.spec import contract
from traincrew.kinds.other_operators import TRAINING_OPERATOR, OtherOperator

MPI_OPERATOR = OtherOperator(
    "mpi-operator",
    "app=mpi-operator",
    ("mpi-operator", "mpi-operator.v1", "mpi-operator.v2"),
    lease="mpi-operator",
    namespace="mpi-operator",
)

KIND = dataclasses.replace(
    v1.KIND,
    variants={"v2beta1": v2beta1.KIND},
    contract=contract,
    other_operators=(TRAINING_OPERATOR, MPI_OPERATOR),
)
