"""Compares the clock of the operator with that of the API server: the Lease has a time of each."""

from __future__ import annotations

import datetime as dt

import msgspec

from traincrew import errors
from traincrew.cli.doctor.check_result import CheckResult, ok, warn
from traincrew.cli.installation.deployments import ChangedMeta, Deployment
from traincrew.client import interfaces
from traincrew.model import resources
from traincrew.model.meta import Struct, Time

TOLERANCE = dt.timedelta(seconds=10)


class _Spec(Struct):
    renew_time: Time | None = None


class _Lease(Struct):
    metadata: ChangedMeta = ChangedMeta()
    spec: _Spec = _Spec()


async def check(reader: interfaces.Reader, deployment: Deployment) -> CheckResult:
    election = deployment.election
    try:
        lease = msgspec.json.decode(await reader.get(resources.LEASES, election.namespace, election.name), type=_Lease)
    except errors.NotFound:
        return ok("clock", "not compared: the operator runs without leader election")
    except errors.Forbidden as error:
        return warn("clock", f"not known: {error.message}", "Ask an administrator to run this command.")
    return judge(lease.spec.renew_time, lease.metadata.changed)


def judge(operator: dt.datetime | None, server: dt.datetime | None) -> CheckResult:
    """operator, server: the time of the same write by each clock; the server's in whole seconds."""
    if operator is None or server is None:
        return ok("clock", "not compared: the Lease has no times")
    difference = operator - server
    if abs(difference) > TOLERANCE:
        text = f"the clock of the operator differs from that of the API server by {abs(difference).total_seconds():.0f} s"
        return warn("clock", text, "Run an NTP client on the nodes. Deadlines, TTLs and back-off delays depend on the clock.")
    return ok("clock", "operator and API server have the same time")
