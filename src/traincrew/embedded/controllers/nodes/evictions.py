"""For how long pods tolerate the NoExecute taints of their node. PURE."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from traincrew.embedded.controllers.nodes.taints import NO_EXECUTE
from traincrew.scheduling.node_affinity import tolerates
from traincrew.scheduling.objects import Taint, Toleration


def no_execute(taints: Iterable[Taint]) -> tuple[Taint, ...]:
    return tuple(taint for taint in taints if taint.effect == NO_EXECUTE)


def tolerated_seconds(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> float:
    """0: the pod is deleted at once. Infinite: it stays. Of several tolerations for a taint the first counts."""
    shortest = math.inf
    for taint in taints:
        used = next((each for each in tolerations if tolerates((each,), taint)), None)
        if used is None:
            return 0.0
        if used.toleration_seconds is not None:
            shortest = min(shortest, max(used.toleration_seconds, 0))
    return float(shortest)
