"""kube-controller-manager beside the API server: real Jobs, a real garbage collector."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tools.kube import cluster


@contextlib.contextmanager
def running(kube: cluster.Cluster, *names: str) -> Iterator[None]:
    """Only those controllers, such as `job` and `garbagecollector`; they end with the block."""
    kube.start_controller_manager(f"--controllers={','.join(names)}")
    try:
        yield
    finally:
        kube.stop_controller_manager()
