"""Looks for Go operators for the same kinds, as the operator does: Deployments, pods, Leases, and statuses that they write."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import msgspec

from traincrew import errors
from traincrew.cli.doctor.check_result import CheckResult, fail, ok, warn
from traincrew.cli.installation import deployments
from traincrew.cli.installation.deployments import Deployment, Installed
from traincrew.client import interfaces
from traincrew.client.leader_election import Lease
from traincrew.kinds import KINDS
from traincrew.kinds.other_operators import OtherOperator
from traincrew.model import resources
from traincrew.model.meta import Meta, Struct
from traincrew.model.operator_pod import OperatorPod
from traincrew.model.resources import Resource
from traincrew.operator.other_operators import WRITE_SECONDS
from traincrew.operator.status_writers import StatusWrite, StatusWriters
from traincrew.planner import other_operators as evidence_of

CLOCK_TOLERANCE = dt.timedelta(seconds=10)
"""Between this machine and the cluster."""
ENDING = dt.timedelta(seconds=60)
"""How long the pods of a Deployment that was scaled to zero may still write."""
T = TypeVar("T")


class _Object(Struct):
    metadata: Meta


async def check(reader: interfaces.Reader, installed: Installed, now: dt.datetime) -> list[CheckResult]:
    try:
        writes = await _status_writes(reader)
        found = [await _check(reader, each, installed, writes, now) for each in deployments.other_operators()]
    except errors.Forbidden as error:
        return [warn("others", f"not known: {error.message}", "Ask an administrator to run this command.")]
    results = [result for result in found if result is not None]
    return results or [ok("others", "no Go operator for the same kinds is running")]


async def _check(
    reader: interfaces.Reader, operator: OtherOperator, installed: Installed, writes: list[StatusWrite], now: dt.datetime
) -> CheckResult | None:
    """The strongest evidence, None if there is none."""
    own = [each for name, each in installed.others if name == operator.name]
    pods = [pod for pod in await _listed(reader, resources.PODS, OperatorPod, labels=operator.selector) if not pod.has_ended]
    waiting = bool(pods) or any(each.spec.replicas for each in own)
    return (
        _of_deployments(operator, own, installed)
        or _of_pods(operator, pods, installed)
        or await _of_leases(reader, operator, now)
        or (ok("others", f"{operator.name} waits for the same Lease as traincrew: one of the two acts") if waiting else None)
        or _of_writes(operator, writes, own, now)
    )


def _of_deployments(operator: OtherOperator, own: list[Deployment], installed: Installed) -> CheckResult | None:
    for each in own:
        pod = OperatorPod(metadata=each.metadata, spec=each.spec.template.spec)
        if each.spec.replicas and not _shares_election(operator, pod, installed):
            message = f"{operator.name} is running ({each.reference}): {_left(operator)}"
            return fail("others", message, "Run `traincrew migrate` to see how traincrew takes over.")
    return None


def _of_pods(operator: OtherOperator, pods: list[OperatorPod], installed: Installed) -> CheckResult | None:
    for pod in pods:
        if not _shares_election(operator, pod, installed):
            meta = pod.metadata
            remedy = f"See what has started it: `kubectl -n {meta.namespace} describe pod {meta.name}`."
            return fail("others", f"{operator.name} is running (pod {meta.namespace}/{meta.name}): {_left(operator)}", remedy)
    return None


async def _of_leases(reader: interfaces.Reader, operator: OtherOperator, now: dt.datetime) -> CheckResult | None:
    async for lease in _held_leases(reader, operator, now):
        evidence = evidence_of.of_lease(operator, lease.metadata.namespace)
        return fail("others", f"{evidence.message}: {_left(operator)}", evidence.remedy)
    return None


def _of_writes(operator: OtherOperator, writes: list[StatusWrite], own: list[Deployment], now: dt.datetime) -> CheckResult | None:
    write = _unexplained(operator, writes, own, now)
    if write is None:
        return None
    message = evidence_of.of_status_write(operator, write.job, write.manager, write.time).message
    remedy = f"Stop {operator.name} if it runs outside of the cluster. If it was stopped since, check again in five minutes."
    return warn("others", f"{message}, and has no pod: {_left(operator)}", remedy)


def _left(operator: OtherOperator) -> str:
    return f"traincrew does not reconcile {', '.join(kind.plural for kind in deployments.kinds_of(operator.name))}"


def _shares_election(operator: OtherOperator, pod: OperatorPod, installed: Installed) -> bool:
    own = installed.traincrew
    return bool(own) and all(evidence_of.shares_election(operator, pod, each.election) for each in own)


async def _held_leases(reader: interfaces.Reader, operator: OtherOperator, now: dt.datetime) -> AsyncIterator[Lease]:
    if not operator.lease:
        return
    for lease in await _listed(reader, resources.LEASES, Lease, fields=f"metadata.name={operator.lease}"):
        renewed, lasts = lease.spec.renew_time, dt.timedelta(seconds=lease.spec.lease_duration_seconds)
        if lease.spec.holder_identity and renewed is not None and now - renewed < lasts + CLOCK_TOLERANCE:
            yield lease


async def _status_writes(reader: interfaces.Reader) -> list[StatusWrite]:
    writes: list[StatusWrite] = []
    writers = StatusWriters(writes.append)
    writers.started = True
    for kind in KINDS:
        read = writers.noting(kind, lambda raw: (msgspec.json.decode(raw, type=_Object), ()))
        with contextlib.suppress(errors.NotFound):  # its CRD is not installed
            async with contextlib.aclosing(reader.pages(kind.resource, None)) as pages:
                async for page in pages:
                    for raw in page.items:
                        read(raw)
    return writes


def _unexplained(
    operator: OtherOperator, writes: list[StatusWrite], own: list[Deployment], now: dt.datetime
) -> StatusWrite | None:
    """The newest write of the last minutes that came after its Deployment was scaled to zero."""
    newest = max((each for each in writes if each.operator == operator and each.time), key=_time, default=None)
    if newest is None or now - _time(newest) > dt.timedelta(seconds=WRITE_SECONDS):
        return None
    stopped = max((each.metadata.changed for each in own if each.metadata.changed is not None), default=None)
    return None if stopped is not None and _time(newest) < stopped + ENDING else newest


def _time(write: StatusWrite) -> dt.datetime:
    assert write.time is not None
    return write.time


async def _listed(reader: interfaces.Reader, resource: Resource, type: type[T], **selectors: Any) -> list[T]:
    async with contextlib.aclosing(reader.pages(resource, None, **selectors)) as pages:
        return [msgspec.json.decode(raw, type=type) async for page in pages for raw in page.items]
