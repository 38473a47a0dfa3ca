"""kube-controller-manager for the API server of the tests: the real Job controller and garbage collector.

TRAINCREW_CONTROLLERS=own: our own Job controller in the place of the real one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from tests.cluster import embedded_controllers
from tools.kube import cluster

OWN = {"job"} if os.environ.get("TRAINCREW_CONTROLLERS") == "own" else set()
"""Names of the embedded controllers."""


@contextlib.contextmanager
def running(kube: cluster.Cluster, *names: str) -> Iterator[None]:
    """Run only these controllers, such as `job` and `garbagecollector`, within the block."""
    own, foreign = [each for each in names if each in OWN], [each for each in names if each not in OWN]
    with contextlib.ExitStack() as stack:
        if own:
            stack.enter_context(embedded_controllers.running(kube, *own))
        if foreign:
            kube.start_controller_manager(f"--controllers={','.join(foreign)}")
            stack.callback(kube.stop_controller_manager)
        yield
