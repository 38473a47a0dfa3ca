"""Adds the probes of a container that are due."""

from __future__ import annotations

from traincrew.embedded.kubelet.lifecycle import attempts, probes
from traincrew.embedded.kubelet.lifecycle.pod import ContainerSpec
from traincrew.embedded.kubelet.lifecycle.steps import RunProbe
from traincrew.embedded.kubelet.lifecycle.sync_context import PendingSteps, SyncContext


def add_due_probes(
    context: SyncContext, pending: PendingSteps, container: ContainerSpec, *, readiness_only: bool = False
) -> None:
    """readiness_only: the container is terminating."""
    current = context.current(container)
    if current.state is None or attempts.post_start_pending(container, current):
        return
    started = attempts.has_started(context.pod, container, current)
    for kind, moment in probes.due(container, current, started, readiness_only).items():
        probe = container.probe(kind) or {}
        timeout = float(probes.setting(probe, "timeoutSeconds"))
        pending.add_at(moment, RunProbe(container.name, current.state.attempt, kind, probes.handler(probe), timeout))
