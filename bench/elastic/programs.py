"""The two elastic programs of the benchmark: Horovod with TensorFlow, and torchrun."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

from tests.seeds import test_elastic_idle, test_torchrun, test_torchrun_idle
from tests.seeds.clusters import Cluster


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    resource: str
    job: str
    submit: Callable[[Cluster, pathlib.Path], None]
    launcher: str = ""
    """The pod whose log has the output of all workers; empty: each worker has its own."""
    lost_steps: int = 0
    """Steps that a removal with notice may cost, at most: the distance of two checkpoints, if the program goes back to one."""

    def worker(self, index: int) -> str:
        return f"{self.job}-worker-{index}"

    def log_of(self, worker: str) -> str:
        return self.launcher or worker


HOROVOD = Program("Horovod", "mpijob", test_elastic_idle.JOB, test_elastic_idle.submit, test_elastic_idle.LAUNCHER)
TORCHRUN = Program("torchrun", "pytorchjob", test_torchrun.JOB, test_torchrun_idle.submit, lost_steps=test_torchrun.MARGIN)
