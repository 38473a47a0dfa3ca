"""The job kinds. `KINDS` is the one list of them: CRDs, RBAC, command line and documentation are derived from it."""

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
