"""The next steps for a pod: the counterpart of kuberuntime's computePodActions."""

from __future__ import annotations

import datetime as dt

from traincrew.embedded.kubelet.lifecycle import events, pod_status, reported_status, start, stop, termination
from traincrew.embedded.kubelet.lifecycle.observed import ObservedPod
from traincrew.embedded.kubelet.lifecycle.pod import Object, Pod
from traincrew.embedded.kubelet.lifecycle.steps import NextSteps
from traincrew.embedded.kubelet.lifecycle.sync_context import PendingSteps, SyncContext


def next_steps(pod_object: Object, observed: ObservedPod, now: dt.datetime) -> NextSteps:
    """Equal arguments give equal steps. Apply `transitions.step_started` before a step is executed, or it is returned again.

    pod_object: the pod as the API server holds it, with the status that was last written.
    """
    pod = Pod(pod_object)
    observed = reported_status.merge(pod, observed)
    context = SyncContext(pod, observed, termination.decide(pod, observed, now), now)
    pending = PendingSteps(now)
    if context.termination.cause:
        stop.terminate_pod(context, pending)
    else:
        start.sync_pod(context, pending)
    status = pod_status.build(context, bool(context.termination.cause) and stop.has_terminated(context))
    current = events.current_events(context)
    new = tuple(event for event in current if event.key not in observed.recorded_events)
    return NextSteps(tuple(pending.steps), status, pending.next_sync, new, frozenset(event.key for event in current))
