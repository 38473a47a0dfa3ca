"""Which nodes may be tainted for eviction now, given the state of their zones. PURE but for what it remembers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.nodes import health, zones
from traincrew.embedded.controllers.nodes.taints import TaintEviction
from traincrew.embedded.controllers.nodes.zones import Disruption

EXCLUDED = "node.kubernetes.io/exclude-disruption"
"""The label of nodes that do not count."""


class ZoneEvictions:
    def __init__(self) -> None:
        self._periods: dict[tuple[str, str], float | None] = {}
        self._last: dict[tuple[str, str], float] = {}
        """The running time at which a node of the zone was tainted."""
        self._all_lost = False

    def observe(self, nodes: Sequence[Object]) -> bool:
        """True: the first node is ready again after no node was."""
        ready: dict[tuple[str, str], list[bool]] = defaultdict(list)
        for node in nodes:
            if EXCLUDED not in (node["metadata"].get("labels") or {}):
                ready[zones.zone_of(node)].append(health.ready_status(node) == "True")
        states = {zone: zones.disruption(of_zone) for zone, of_zone in ready.items()}
        self._periods = {zone: zones.eviction_period(states[zone], len(ready[zone])) for zone in states}
        before, self._all_lost = self._all_lost, bool(states) and set(states.values()) == {Disruption.FULL}
        return before and not self._all_lost

    def of(self, node: Object, now: float) -> TaintEviction:
        if self._all_lost:
            return TaintEviction.STOPPED
        zone = zones.zone_of(node)
        period = self._periods.get(zone, zones.NORMAL_PERIOD)
        if period is None or (zone in self._last and now - self._last[zone] < period):
            return TaintEviction.LATER
        return TaintEviction.ALLOWED

    def started(self, node: Object, now: float) -> None:
        self._last[zones.zone_of(node)] = now
