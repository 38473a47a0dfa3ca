"""The table of known faults. Of two rows that match equally well, the first counts.

To teach a fault: add a row to the file of its framework, and a case with a real output under tests/diagnosis/cases. A row that
matches no case fails the tests. A fault that programs often survive needs `fatal_if`.
"""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer
from traincrew.diagnosis.recognizers import (
    collectives,
    commands,
    gpus,
    horovod,
    jax,
    mpi,
    paddle,
    python,
    ssh,
    tensorflow,
    torch,
    xgboost,
)

RECOGNIZERS: tuple[Recognizer, ...] = (
    *gpus.RECOGNIZERS,
    *torch.RECOGNIZERS,
    *horovod.RECOGNIZERS,
    *jax.RECOGNIZERS,
    *tensorflow.RECOGNIZERS,
    *xgboost.RECOGNIZERS,
    *paddle.RECOGNIZERS,
    *collectives.RECOGNIZERS,
    *ssh.RECOGNIZERS,
    *mpi.RECOGNIZERS,
    *python.RECOGNIZERS,
    *commands.RECOGNIZERS,
)
