"""The decision: leave nodes that end, give back to those who wait, even out, ask for missing workers, use idle capacity."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.model.meta import Time
from traincrew.model.shares import GAVE_BACK, RESIZED, Leave
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import budget, claims, filling, leaves, quotas, victims
from traincrew.sharing.claims import Claim
from traincrew.sharing.draft import Draft
from traincrew.sharing.room import Room
from traincrew.sharing.scene import JobRecord, Memory, Scene, Shares
from traincrew.sharing.victims import Candidate


def share(scene: Scene, now: Time) -> Shares:
    return _Decision(scene, now).run()


class _Decision:
    def __init__(self, scene: Scene, now: Time) -> None:
        self._scene, self._rules, self._now = scene, scene.rules, now
        self._notices = leaves.notices(scene)
        staying = [node for node in scene.nodes if node.name not in self._notices]
        self._soft = leaves.soft_notices(scene)
        self._room = Room(scene, staying, frozenset(self._soft))
        self._claims = claims.find(scene)
        self._drafts: dict[str, Draft] = {}
        for job in sorted(scene.jobs, key=lambda each: each.uid):
            record = budget.updated(scene.memory.jobs.get(job.uid), job, self._rules, now)
            self._drafts[job.uid] = Draft(job, record, job.anchored(self._room.nodes), self._room.dominant_part(job.shape))
        self._again: list[Time] = []
        self._held: Claim | None = None
        """A claim that is left to the scheduler for a moment: nobody grows."""

    def run(self) -> Shares:
        terminating = [pod for pod in self._scene.pods if pod.terminating and pod.spec.node_name]
        for pod in terminating:
            self._room.remove(pod)
        for draft in self._drafts.values():
            self._update(draft)
        for claim in self._claims:
            self._serve(claim)
        left = quotas.give_back(self._scene, self._drafts.values(), self._rules, self._now)
        for draft in self._drafts.values():
            leaves.round_down(draft, self._rules, self._now)
        for pod in terminating:  # it holds its room until it is gone
            self._room.add(pod)
        for draft in self._drafts.values():
            self._occupy(draft)
        for draft in self._drafts.values():
            leaves.evict_steady_pods(draft, self._notices, self._room)
        if self._held is None and not any(claim.necessary for claim in self._claims):
            leaves.even_out(list(self._drafts.values()), self._room, self._rules, self._now)
        for draft in self._drafts.values():
            self._ask(draft)
        if self._held is None:
            scene = dataclasses.replace(self._scene, quotas=left)
            filling.grow(list(self._drafts.values()), self._room, scene, self._now)
        return self._shares()

    def _update(self, draft: Draft) -> None:
        """Members that are gone, were refused, or are more than the job asks for."""
        rules, now = self._rules, self._now
        leaves.drop_lost(draft, self._scene, rules, now)
        leaves.leave_ending_nodes(draft, self._notices, self._soft, rules, now)
        base = [each for each in draft.in_order if not each.surplus]
        excess = sum(not each.surplus for each in draft.members.values()) - draft.job.wanted
        too_many = base[: max(excess, 0)]
        limit = draft.job.most if draft.job.grows else draft.job.wanted
        rest = [each for each in draft.in_order if each not in too_many]
        too_many += rest[: max(len(draft.members) - len(too_many) - limit, 0)]
        for member in too_many:
            draft.leave(member.index, Leave(RESIZED, "", f"the job asks for {draft.job.wanted} workers"), rules, now)
            if member.pod is not None:
                self._room.remove(member.pod)

    def _occupy(self, draft: Draft) -> None:
        """Workers that leave hold their room until they are gone. Workers that come hold theirs already."""
        for member in draft.job.members:
            if member.index in draft.leaving and member.pod is not None:
                self._room.add(member.pod)
        for member in draft.members.values():
            if member.pod is None:
                self._room.place(filling.numbered(draft.job, -1 - member.index))
            elif member.pod.pending and not claims.is_unschedulable(member.pod):
                self._room.place(member.pod)

    def _serve(self, claim: Claim) -> None:
        if claim.nominated:
            for pod in claim.pods:
                node = pod.status.nominated_node_name
                _ = self._room.reserve(pod, node) if node else self._room.place(pod)
            return
        if self._room.place_all(claim.pods) is not None:
            return
        giving = self._giving(claim, necessary=False)
        if giving is not None and self._is_left_to_scheduler(claim):
            self._held = claim
            self._again.append(claim.since + dt.timedelta(seconds=self._rules.patience))
            return
        if giving is None and claim.necessary:
            giving = self._giving(claim, necessary=True)
        for each in giving.leaving if giving is not None else ():
            words = Leave(GAVE_BACK, claim.claimant, claim.words)
            self._drafts[each.job].leave(each.member.index, words, self._rules, self._now)

    def _is_left_to_scheduler(self, claim: Claim) -> bool:
        able = all(pod.spec.preemption_policy != "Never" for pod in claim.pods)
        return able and self._now < claim.since + dt.timedelta(seconds=self._rules.patience)

    def _giving(self, claim: Claim, *, necessary: bool) -> victims.Giving | None:
        """necessary: also workers that jobs of no higher priority ask for, down to their minimum."""
        allowance, candidates = {}, []
        for uid, draft in self._drafts.items():
            job = draft.job
            if claim.job is not None and claim.job.uid == uid:
                continue
            floor = job.least if necessary and job.priority <= claim.priority else job.wanted
            # Workers that have no node do not count: the job would be left without those it needs.
            allowance[uid] = max(sum(_is_bound(each.pod) for each in draft.members.values()) - floor, 0)
            pods = ((each, each.pod) for each in draft.in_order if _is_bound(each.pod))
            candidates += [Candidate(uid, each, pod) for each, pod in pods if pod is not None]
        return victims.least(self._room, claim.pods, candidates, allowance)

    def _ask(self, draft: Draft) -> None:
        """Workers up to the requested number."""
        job, lacking = draft.job, draft.job.wanted - len(draft.members)
        owed = max(draft.owed, job.least - len(draft.members))
        for number in range(max(lacking, 0)):
            if draft.total >= job.most:
                return
            if number < owed:
                draft.add(None, self._now, surplus=False)
                continue
            if draft.record.postponed is not None or self._held is not None:
                self._again += [draft.record.postponed] if draft.record.postponed is not None else []
                draft.brake = budget.before_growth(job, draft.record, self._rules, self._now)
                return
            placed = self._room.place(filling.numbered(job, number))
            if placed is None:
                draft.brake = budget.Brake("NoRoom", self._room.reasons(job.shape))
                return
            draft.add(placed, self._now, surplus=False)

    def _explain(self, draft: Draft) -> None:
        """Why a job has not more that was not considered for growth."""
        if draft.brake is not None:
            return
        if draft.leaving:
            draft.brake = budget.because_of(next(iter(draft.leaving.values())))
        elif self._held is not None:
            draft.brake = budget.Brake("Yielding", self._held.words)

    def _shares(self) -> Shares:
        for draft in self._drafts.values():
            self._explain(draft)
        result = {uid: draft.share() for uid, draft in self._drafts.items()}
        records = {
            uid: dataclasses.replace(draft.record, wanted=draft.job.wanted, leaving=dict(draft.leaving))
            for uid, draft in self._drafts.items()
        }
        for draft in self._drafts.values():
            times = [draft.brake.until if draft.brake is not None else None, *_expiries(draft)]
            self._again += [time for time in times if time is not None and time > self._now]
        return Shares(result, self._remembered(records), min((time for time in self._again if time > self._now), default=None))

    def _remembered(self, records: dict[str, JobRecord]) -> Memory:
        """The mean stay of workers on idle capacity, with those that have gone since."""
        memory = self._scene.memory
        present = {
            member.pod.uid: memory.stays.get(member.pod.uid, member.pod.created)
            for draft in self._drafts.values()
            for member in draft.members.values()
            if member.surplus and member.pod is not None
        }
        stay = memory.stay
        for uid, since in sorted(memory.stays.items()):
            if uid not in present:
                stay = 0.9 * stay + 0.1 * (self._now - since).total_seconds()
        return Memory(records, present, stay)


def _is_bound(pod: PodInfo | None) -> bool:
    return pod is not None and bool(pod.spec.node_name) and not pod.terminating


def _expiries(draft: Draft) -> list[Time | None]:
    times = (*draft.record.granted.values(), *draft.record.asked.values())
    return [time + dt.timedelta(seconds=budget.GRANT_SECONDS + 0.1) for time in times]
