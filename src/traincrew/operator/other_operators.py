"""Go operators for the same kinds that are running. While one is, the jobs of its kinds are not reconciled.

Watched are its pods, the Lease that it always holds, and the statuses that it writes. The pods and the managed fields of jobs
need no further rights; of Leases the operator may read only those with the names of the Go operators. An operator for some
namespaces also watches its own namespace and those in which the Go operators are installed, if it has the right.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from traincrew import errors, settings
from traincrew.client import interfaces
from traincrew.client.informer import Informer, Scope
from traincrew.client.leader_election import Lease
from traincrew.client.store import InformerStore
from traincrew.kinds.kind import JobKind
from traincrew.kinds.other_operators import OtherOperator
from traincrew.model import resources
from traincrew.model.operator_pod import OperatorPod
from traincrew.operator.metrics import Metrics
from traincrew.operator.status_writers import StatusWrite, StatusWriters
from traincrew.operator.watch_permission import may_watch
from traincrew.planner import other_operators as evidence_of
from traincrew.planner.other_operators import OperatorEvidence

log = logging.getLogger(__name__)

WRITE_SECONDS = 300.0
"""Seconds after the last status that another operator wrote for which it is considered to be running."""


class OtherOperators:
    def __init__(
        self,
        client: interfaces.Client,
        kinds: tuple[JobKind, ...],
        options: settings.Operator,
        metrics: Metrics,
        now: Callable[[], dt.datetime],
    ) -> None:
        self._kinds, self._metrics, self._now = kinds, metrics, now
        self._election = options.election
        ignored = options.ignore_other_operators
        self._operators = () if ignored else tuple(dict.fromkeys(each for kind in kinds for each in kind.other_operators))
        self.running: dict[OtherOperator, OperatorEvidence] = {}
        self.on_change: Callable[[], None] = lambda: None
        """Called when `running` has changed."""
        self.status_writers = StatusWriters(self._status_written)
        self._held: dict[OtherOperator, tuple[float, OperatorEvidence]] = {}
        """Until when (loop time) a Lease is held."""
        self._written: dict[OtherOperator, tuple[float, OperatorEvidence]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._settled = asyncio.Event()
        self._pods = {each: InformerStore(_decode_pod, self._pod_changed(each)) for each in self._operators}
        self._last_pod_ended: dict[OtherOperator, dt.datetime] = {}
        self._started: dt.datetime | None = None
        """When this operator began to act: with leader election, when it held the Lease."""
        leases = [each for each in self._operators if each.lease]
        stored_leases = {each: InformerStore(_decode_lease, self._lease_changed(each)) for each in leases}
        self._client, self._informers = client, list[Informer[Any]]()
        self._elsewhere: list[tuple[Informer[Any], str]] = []
        """Informers of namespaces that are not watched, with the name of their only object, until it is known who may run."""
        self._rights_known = asyncio.Event()
        for operator in self._operators:
            for namespace in _namespaces(operator, options):
                watched = not options.namespaces or namespace in options.namespaces
                pods = Informer(client, Scope(resources.PODS, namespace, operator.selector), self._pods[operator])
                self._add(pods, "", watched)
                if operator.lease:
                    scope = Scope(resources.LEASES, namespace, fields=f"metadata.name={operator.lease}")
                    self._add(Informer(client, scope, stored_leases[operator]), operator.lease, watched)

    def _add(self, informer: Informer[Any], name: str, watched: bool) -> None:
        informer.on_failure = self._settled.set
        if watched:
            self._informers.append(informer)
        else:
            self._elsewhere.append((informer, name))

    async def run(self) -> None:
        """Runs the informers until cancelled. Rights are asked for once: those that are granted later count after a restart."""
        for informer, name in self._elsewhere:
            if await may_watch(self._client, informer.scope, name):
                self._informers.append(informer)
        self._rights_known.set()
        await asyncio.gather(asyncio.Event().wait(), *(informer.run() for informer in self._informers))

    async def synced(self) -> None:
        """Returns when it is known which operators are running, or that the API server does not allow to know."""
        await self._rights_known.wait()
        for informer in self._informers:
            while not (informer.synced.is_set() or isinstance(informer.failure, errors.Forbidden)):
                self._settled.clear()
                waits = [asyncio.ensure_future(each.wait()) for each in (informer.synced, self._settled)]
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for each in waits:
                    each.cancel()
        self.status_writers.started, self._started = bool(self._operators), self._now()
        self._evaluate()

    def blocking(self, kind: JobKind) -> OperatorEvidence | None:
        """Why jobs of this kind are not reconciled."""
        return next((self.running[each] for each in kind.other_operators if each in self.running), None)

    def notice(self) -> str:
        """The kinds that are not reconciled, and why; empty if there are none."""
        blocked: dict[OperatorEvidence, list[str]] = {}
        for kind in self._kinds:
            if (evidence := self.blocking(kind)) is not None:
                blocked.setdefault(evidence, []).append(kind.plural)
        return " ".join(evidence_of.not_reconciled(f"{', '.join(names)} are", each) for each, names in blocked.items())

    def unready_reason(self) -> str:
        """An operator is ready if it serves a kind."""
        return self.notice() if all(self.blocking(kind) is not None for kind in self._kinds) else ""

    def _pod_changed(self, operator: OtherOperator) -> Callable[[OperatorPod | None, OperatorPod | None], None]:
        def changed(old: OperatorPod | None, new: OperatorPod | None) -> None:
            if (new is None or new.has_ended) and not (old is not None and old.has_ended):
                self._last_pod_ended[operator] = self._now()
            self._evaluate()

        return changed

    def _lease_changed(self, operator: OtherOperator) -> Callable[[Lease | None, Lease | None], None]:
        def changed(old: Lease | None, new: Lease | None) -> None:
            loop = asyncio.get_running_loop()
            self._held.pop(operator, None)
            if new is not None and new.spec.holder_identity and (old is not None or not self._has_expired(new)):
                until = loop.time() + max(new.spec.lease_duration_seconds, 1)
                self._held[operator] = (until, evidence_of.of_lease(operator, new.metadata.namespace))
            self._evaluate()

        return changed

    def _has_expired(self, lease: Lease) -> bool:
        """Of a Lease that was not seen to change: it may have been left behind."""
        renewed = lease.spec.renew_time
        return renewed is None or self._now() - renewed > dt.timedelta(seconds=max(lease.spec.lease_duration_seconds, 1))

    def _status_written(self, write: StatusWrite) -> None:
        if self._writer_pod_existed(write):
            return
        until = asyncio.get_running_loop().time() + WRITE_SECONDS
        evidence = evidence_of.of_status_write(write.operator, write.job, write.manager, write.time)
        self._written[write.operator] = (until, evidence)
        self._evaluate()

    def _writer_pod_existed(self, write: StatusWrite) -> bool:
        """Whether a pod of the operator was there when it wrote: then the operator ends with its pods, and not minutes later.

        The watch of jobs may deliver the last write after the watch of pods has delivered the end of the pod. A pod that shares
        the election ends its work when this operator starts: a later write is not explained by it.
        """
        pods = [pod for pod in self._pods[write.operator] if not pod.has_ended]
        sharing = [pod for pod in pods if evidence_of.shares_election(write.operator, pod, self._election)]
        ended = (self._last_pod_ended.get(write.operator), self._started if sharing else None)
        before = any(write.time is not None and end is not None and write.time <= end for end in ended)
        return before or len(pods) > len(sharing)

    def _evaluate(self) -> None:
        loop = asyncio.get_running_loop()
        running: dict[OtherOperator, OperatorEvidence] = {}
        for operator in self._operators:
            if (evidence := self._evidence(operator, loop.time())) is not None:
                running[operator] = evidence
        self._schedule(loop)
        if running == self.running:
            return
        self._report(running)
        self.running = running
        self.on_change()

    def _evidence(self, operator: OtherOperator, time: float) -> OperatorEvidence | None:
        for pod in self._pods[operator]:
            if (evidence := evidence_of.of_pod(operator, pod, self._election)) is not None:
                return evidence
        # A Lease and a status count until a time.
        expiring = (self._held.get(operator), self._written.get(operator))
        return next((each[1] for each in expiring if each is not None and each[0] > time), None)

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        ends = [until for until, _ in (*self._held.values(), *self._written.values()) if until > loop.time()]
        self._timer = loop.call_at(min(ends), self._evaluate) if ends else None

    def _report(self, running: dict[OtherOperator, OperatorEvidence]) -> None:
        for operator in {**self.running, **running}:
            self._metrics.other_operators.labels(operator.name).set(operator in running)
            if operator not in running:
                log.info("other operator is gone", extra={"operator": operator.name})
            elif operator not in self.running:
                evidence = running[operator]
                fields = {"operator": operator.name, "because": evidence.message, "remedy": evidence.remedy}
                log.error("another operator is running: its kinds are not reconciled", extra=fields)


def _namespaces(operator: OtherOperator, options: settings.Operator) -> tuple[str | None, ...]:
    """Where a Go operator may be. None: in any namespace."""
    if not options.namespaces:
        return (None,)
    return tuple(dict.fromkeys(filter(None, (*options.namespaces, options.own_namespace, operator.namespace))))


def _decode_pod(raw: bytes) -> OperatorPod:
    return msgspec.json.decode(raw, type=OperatorPod)


def _decode_lease(raw: bytes) -> Lease:
    return msgspec.json.decode(raw, type=Lease)
