"""How a replica ended: what Kubernetes knows about it, and the tail of its output."""

from __future__ import annotations

import dataclasses

from traincrew.model.meta import Time


@dataclasses.dataclass(frozen=True)
class ReplicaEnd:
    replica: str
    """Name for people, such as `Worker 1`."""
    output: str = ""
    """The tail of its output. A cause that was printed before it is not found."""
    exit_code: int | None = None
    reason: str = ""
    """The reason of the container's termination or of the pod's failure, such as OOMKilled or Evicted."""
    ended: Time | None = None
    container: str = ""
    """The container that ended it."""
    memory_limit: str = ""
    """Of that container, such as `4Gi`. Empty: it has none, or it is not known."""
    silent: bool = False
    """It has printed nothing at all. False: it has, or that is not known."""
    signal: int | None = None
    """The signal that ended it; 0: none did, it returned the exit code. None: not known."""
