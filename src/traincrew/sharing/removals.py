"""Workers that are removed without demand: without a pod, unschedulable, or on a terminating node."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from traincrew.model.elastic_allocation import GAVE_BACK, NOTICED, REFUSED, Removal
from traincrew.model.meta import Time
from traincrew.sharing import demands, scale_up_limits, termination_notices
from traincrew.sharing.cluster_snapshot import Member
from traincrew.sharing.free_capacity import FreeCapacity
from traincrew.sharing.policy import SharingPolicy
from traincrew.sharing.proposal import JobProposal


def remove_from_terminating_nodes(
    proposal: JobProposal, terminating: Mapping[str, str], at_risk: Mapping[str, str], policy: SharingPolicy, now: Time
) -> None:
    """Workers whose node or pod is about to be terminated. Replacements of requested workers are requested at once."""
    for member in list(proposal.removable):
        node = member.pod.spec.node_name if member.pod is not None else ""
        if node in terminating:
            message = f"node {node} is being terminated ({terminating[node]})"
        elif node in at_risk and member.surplus:
            message = f"node {node} may be terminated ({at_risk[node]})"
        elif (reason := _disrupted(member)) and proposal.pod_count < proposal.job.max_replicas:
            message = f"its pod is disrupted ({reason})"
        else:
            continue
        before = proposal.record
        proposal.remove(member.index, Removal(NOTICED, "", message), policy, now)
        if not member.surplus:
            # The last decision may not be carried out yet: then it has requested the replacement already.
            replaced = int(member.index not in before.leaving)
            proposal.unconditional, proposal.record = proposal.unconditional + replaced, before


def withdraw(proposal: JobProposal, withdrawals: Mapping[str, Time], policy: SharingPolicy, now: Time) -> None:
    """Workers on idle capacity that alone keep a node of an autoscaler. withdrawals: when they leave their nodes."""
    for member in [each for each in proposal.removable if each.surplus and each.pod is not None]:
        node = member.pod.spec.node_name if member.pod is not None else ""
        if node in withdrawals and withdrawals[node] <= now:
            message = f"only workers on idle capacity use node {node}, which its autoscaler may remove"
            proposal.remove(member.index, Removal(GAVE_BACK, "", message), policy, now)


def _disrupted(member: Member) -> str:
    """Why the pod of a requested worker is about to be deleted by another controller."""
    target = member.pod.status.condition("DisruptionTarget") if member.pod is not None and not member.surplus else None
    return target.reason or target.type if target is not None and target.status == "True" else ""


def evict_protected_pods(proposal: JobProposal, terminating: Mapping[str, str], capacity: FreeCapacity) -> None:
    """The host of the rendezvous and the launcher cannot be removed: without them the job restarts as after a node loss.

    They are replaced only if there is capacity elsewhere. The pod of a node that does not respond could not be replaced.
    """
    protected_pods = (
        (each.pod for each in proposal.members.values() if each.index in proposal.protected)
        if proposal.job.protected_worker == "first"
        else ()
    )
    for pod in (*protected_pods, *proposal.job.launchers):
        message = terminating.get(pod.spec.node_name, "") if pod is not None and not pod.terminating else ""
        if pod is not None and message and message != termination_notices.UNREACHABLE and capacity.place(pod) is not None:
            proposal.evicted[pod.uid] = (
                f"pod {pod.metadata.name} is replaced: node {pod.spec.node_name} is being terminated ({message})"
            )


def remove_failed(proposal: JobProposal, policy: SharingPolicy, now: Time) -> None:
    """Workers on idle capacity that got no pod or no node."""
    for member in [each for each in proposal.members.values() if each.surplus]:
        pod = member.pod
        rejection = proposal.job.rejections.get(member.index)
        if pod is None and (rejection is not None or member.index not in proposal.record.granted):
            del proposal.members[member.index]
            granted = {index: time for index, time in proposal.record.granted.items() if index != member.index}
            failure = scale_up_limits.rejected(rejection) if rejection is not None else scale_up_limits.NOT_CREATED
            proposal.record = dataclasses.replace(
                scale_up_limits.with_backoff(proposal.record, policy, now, failure), granted=granted
            )
        elif pod is not None and pod.pending and demands.is_unschedulable(pod):
            failure = scale_up_limits.unschedulable(demands.scheduler_message(pod))
            proposal.remove(member.index, Removal(REFUSED, "", "the scheduler found no node"), policy, now)
            proposal.record = dataclasses.replace(
                scale_up_limits.with_backoff(proposal.record, policy, now, failure), cooldown_until=None
            )
