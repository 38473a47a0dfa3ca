"""Workers that leave for other reasons than a claim: gone, refused, on a node that ends, or to the benefit of a poorer job."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping

from traincrew.model.meta import Time
from traincrew.model.shares import EVENED_OUT, GAVE_BACK, NOTICED, RECLAIMED, Leave
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import budget, claims
from traincrew.sharing import notices as node_notices
from traincrew.sharing.draft import Draft
from traincrew.sharing.room import Room
from traincrew.sharing.scene import Member, Rules, Scene

REFUSED = "Refused"


def notices(scene: Scene) -> dict[str, str]:
    """The nodes that announce their end, or do not respond, with the words for it."""
    found = {node.name: node_notices.find(node, scene.rules.notice_taints) for node in scene.nodes}
    return {name: words for name, words in found.items() if words}


def soft_notices(scene: Scene) -> dict[str, str]:
    """The nodes that only workers on idle capacity leave, with the words for it."""
    found = {node.name: node_notices.find_soft(node) for node in scene.nodes}
    return {name: words for name, words in found.items() if words}


def leave_ending_nodes(draft: Draft, hard: Mapping[str, str], soft: Mapping[str, str], rules: Rules, now: Time) -> None:
    """Workers whose node or pod ends. Replacements of those that the job asks for are asked for at once."""
    for member in list(draft.in_order):
        node = member.pod.spec.node_name if member.pod is not None else ""
        if node in hard:
            words = f"node {node} ends ({hard[node]})"
        elif node in soft and member.surplus:
            words = f"node {node} may end ({soft[node]})"
        elif (reason := _disrupted(member)) and draft.total < draft.job.most:
            words = f"its pod is disrupted ({reason})"
        else:
            continue
        before = draft.record
        draft.leave(member.index, Leave(NOTICED, "", words), rules, now)
        if not member.surplus:
            draft.owed, draft.record = draft.owed + 1, before


def _disrupted(member: Member) -> str:
    """Why the pod of a worker that the job asks for is about to be deleted by others."""
    target = member.pod.status.condition("DisruptionTarget") if member.pod is not None and not member.surplus else None
    return target.reason or target.type if target is not None and target.status == "True" else ""


def evict_steady_pods(draft: Draft, hard: Mapping[str, str], room: Room) -> None:
    """The host of the rendezvous and the launcher cannot leave: without them the job restarts, as after the loss of their node.

    They are moved only if there is room elsewhere. The pod of a node that does not respond could not be replaced.
    """
    anchors = (each.pod for each in draft.members.values() if each.index in draft.anchored) if draft.job.anchor == "first" else ()
    for pod in (*anchors, *draft.job.others):
        words = hard.get(pod.spec.node_name, "") if pod is not None and not pod.terminating else ""
        if pod is not None and words and words != node_notices.UNREACHABLE and room.place(pod) is not None:
            draft.evicted[pod.uid] = f"pod {pod.metadata.name} is replaced: node {pod.spec.node_name} ends ({words})"


def drop_lost(draft: Draft, scene: Scene, rules: Rules, now: Time) -> None:
    """Workers on idle capacity that were preempted or deleted, were refused by the scheduler, or got no pod."""
    for member in [each for each in draft.members.values() if each.surplus]:
        pod = member.pod
        rejection = draft.job.rejections.get(member.index, "")
        if pod is None and (rejection or member.index not in draft.record.granted):
            del draft.members[member.index]
            granted = {index: time for index, time in draft.record.granted.items() if index != member.index}
            words = f"{budget.REJECTED}: {rejection}" if rejection else budget.NOT_CREATED
            draft.record = dataclasses.replace(budget.refused(draft.record, rules, now, words), granted=granted)
        elif pod is not None and pod.terminating:
            draft.leave(member.index, _reclaimed(scene, pod), rules, now)
        elif pod is not None and pod.pending and claims.is_unschedulable(pod):
            words = f"the scheduler refused the last worker: {_said(pod)}"
            draft.leave(member.index, Leave(REFUSED, "", "the scheduler found no node"), rules, now)
            draft.record = dataclasses.replace(budget.refused(draft.record, rules, now, words), postponed=None)
    for member in draft.job.departing:
        if member.surplus and member.pod is not None and member.pod.preempted:
            draft.leaving[member.index] = _reclaimed(scene, member.pod)


def _said(pod: PodInfo) -> str:
    condition = pod.status.condition("PodScheduled")
    return condition.message.partition(". ")[0].rstrip(".") if condition is not None else ""


def _reclaimed(scene: Scene, pod: PodInfo) -> Leave:
    """For a pod that was preempted, the one for which the scheduler frees the node."""
    for claim in claims.find(scene) if pod.preempted else ():
        if any(each.status.nominated_node_name == pod.spec.node_name for each in claim.pods):
            return Leave(GAVE_BACK, claim.claimant, claim.words)
    return Leave(RECLAIMED, "", "pods on idle capacity were preempted or deleted")


def round_down(draft: Draft, rules: Rules, now: Time) -> None:
    """To an allowed size, after others have left."""
    sizes = [size for size in draft.job.sizes if size <= len(draft.members)]
    if not draft.leaving or not sizes:
        return
    cause = next(iter(draft.leaving.values()))
    for member in draft.in_order[: max(len(draft.members) - max(sizes), 0)]:
        draft.leave(member.index, cause, rules, now)


def even_out(drafts: list[Draft], room: Room, rules: Rules, now: Time) -> None:
    """One worker on idle capacity changes sides if the richer job stays at least as rich, and has been richer for long enough."""
    pairs = [
        (rich.level - poor.level, rich, poor)
        for rich in drafts
        for poor in drafts
        if rich.job.priority == poor.job.priority and _would_even_out(rich, poor, room)
    ]
    rich_uids = {rich.job.uid for _, rich, _ in pairs}
    for draft in drafts:
        since = draft.record.richer_since or now if draft.job.uid in rich_uids else None
        draft.record = dataclasses.replace(draft.record, richer_since=since)
    _, rich, poor = max(pairs, key=lambda pair: (pair[0], pair[1].job.uid), default=(0.0, None, None))
    if rich is None or poor is None or rich.record.richer_since is None:
        return
    lasted = now - rich.record.richer_since >= dt.timedelta(seconds=rules.even_out_after)
    able = all(each.record.credit >= budget.price(each.job.cost) for each in (rich, poor))
    leaver = _leaver(rich)
    if lasted and able and leaver is not None:
        _change_sides(rich, poor, leaver, rules, now)


def _would_even_out(rich: Draft, poor: Draft, room: Room) -> bool:
    if rich is poor or rich.leaving or poor.leaving or not poor.job.running or not poor.job.grows:
        return False
    if len(rich.members) <= rich.job.wanted or not poor.job.wanted <= len(poor.members) < poor.job.most:
        return False
    rounding = 1e-9 * rich.step
    return rich.level - rich.step >= poor.level + poor.step - rounding and _fits_instead(rich, poor, room)


def _fits_instead(rich: Draft, poor: Draft, room: Room) -> bool:
    """Whether a worker of the poorer job fits when one of the richer job is gone."""
    leaver = _leaver(rich)
    if leaver is None or leaver.pod is None:
        return False
    room.remove(leaver.pod)
    placed = room.place(poor.job.shape, strict=True)
    if placed is not None:
        room.remove(placed)
    room.add(leaver.pod)
    return placed is not None


def _leaver(rich: Draft) -> Member | None:
    return next((each for each in rich.in_order if each.pod is not None and each.pod.spec.node_name), None)


def _change_sides(rich: Draft, poor: Draft, leaver: Member, rules: Rules, now: Time) -> None:
    words = f"one goes to {poor.job.reference}, which has {len(poor.members)}"
    rich.leave(leaver.index, Leave(EVENED_OUT, poor.job.reference, words), rules, now)
    paid = dataclasses.replace(rich.record, credit=rich.record.credit - budget.price(rich.job.cost), richer_since=None)
    rich.record = paid
