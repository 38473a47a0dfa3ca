"""Whether a Go operator for the same kinds is running. Two operators must not act on one job."""

from __future__ import annotations

import datetime as dt

from traincrew import settings
from traincrew.kinds.other_operators import OtherOperator
from traincrew.model.meta import Struct
from traincrew.model.operator_pod import OperatorPod


class OperatorEvidence(Struct):
    """Why an operator is considered to be running."""

    message: str
    remedy: str


def of_pod(operator: OtherOperator, pod: OperatorPod, election: settings.Election) -> OperatorEvidence | None:
    """election: that of this operator.

    A pod that terminates is still running. One that waits to be scheduled may run at any time.
    """
    if pod.has_ended or shares_election(operator, pod, election):
        return None
    meta = pod.metadata
    # mpi-operator has a Deployment of the same name, and so have the others.
    remedy = f"Run `kubectl -n {meta.namespace} scale deployment {operator.name} --replicas=0`."
    return OperatorEvidence(message=f"pod {meta.namespace}/{meta.name} of {operator.name} exists", remedy=remedy)


def shares_election(operator: OtherOperator, pod: OperatorPod, election: settings.Election) -> bool:
    """Whether the Go operator waits for the same Lease, so that leader election decides which of the two acts."""
    if not (election.enabled and operator.election and pod.spec.has_flag("leader-elect")):
        return False
    given = pod.spec.flags("leader-election-id") or [operator.election]
    return (pod.metadata.namespace, given[-1]) == (election.namespace, election.name)


def of_lease(operator: OtherOperator, namespace: str) -> OperatorEvidence:
    message = f"{operator.name} holds the Lease {namespace}/{operator.lease}"
    return OperatorEvidence(message=message, remedy=f"Stop {operator.name}. Its Lease expires within a minute.")


def of_status_write(operator: OtherOperator, job: str, manager: str, time: dt.datetime | None) -> OperatorEvidence:
    at = f" at {time:%H:%M:%S} UTC" if time is not None else ""
    message = f"{operator.name} (field manager {manager!r}) wrote the status of {job}{at}"
    return OperatorEvidence(message=message, remedy=f"Stop {operator.name}, then restart traincrew.")


def not_reconciled(what: str, evidence: OperatorEvidence) -> str:
    """The sentence for people: what is not reconciled, why, and what to do."""
    return f"{what} not reconciled: {evidence.message}. {evidence.remedy}"
