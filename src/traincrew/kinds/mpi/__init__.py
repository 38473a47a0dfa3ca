"""MPIJob: a launcher that starts processes on workers, including Horovod, fixed and elastic.

Two versions with different behaviour in one CRD: in `v1` the launcher reaches its workers by `kubectl exec`, in `v2beta1` by SSH.
The defaults of the v2beta1 schema, such as sshAuthMountPath, identify a job that was created through v2beta1. The operator
records the version in the status when it first sees the job.
"""

from __future__ import annotations

import dataclasses

from traincrew.kinds.mpi import v1, v2beta1
from traincrew.kinds.mpi.spec import contract

KIND = dataclasses.replace(v1.KIND, variants={"v2beta1": v2beta1.KIND}, contract=contract)
