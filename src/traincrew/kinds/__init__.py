"""The job kinds. CRDs, RBAC, command line and documentation are generated from the list `KINDS`."""

from __future__ import annotations

from traincrew.kinds import jax, mpi, paddle, pytorch, tensorflow, xgboost
from traincrew.kinds.kind import JobKind

KINDS: tuple[JobKind, ...] = (
    tensorflow.KIND,
    pytorch.KIND,
    mpi.KIND,
    xgboost.KIND,
    paddle.KIND,
    jax.KIND,
)
