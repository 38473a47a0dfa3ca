"""MPIJob: a launcher that starts processes on workers, among them Horovod, fixed and elastic.

One resource, two contracts: `v1` reaches workers by `kubectl exec` (`by_exec`), `v2beta1` by SSH (`by_ssh`). The spec they share
is in `spec`. Both versions are served from one CRD; a job posted through v2beta1 is known by the defaults of that version's
schema, such as sshAuthMountPath, and what it follows is recorded in its status when it is first seen.
"""

from __future__ import annotations

import dataclasses

from traincrew.kinds.kind import Option
from traincrew.kinds.mpi import v1, v2beta1
from traincrew.kinds.mpi.spec import DELIVERY_IMAGE, SCHEMA, contract

KIND = dataclasses.replace(
    v1.KIND,
    variants={"v2beta1": v2beta1.KIND},
    contract=contract,
    schema=SCHEMA,
    options=(Option(DELIVERY_IMAGE, "kubeflow/kubectl-delivery:latest", "image that brings kubectl into launcher pods"),),
)
