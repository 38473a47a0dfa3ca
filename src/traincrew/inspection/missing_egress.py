"""Why the pods of a failed replica's node cannot reach external networks, from the condition of the node."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from traincrew import errors
from traincrew.client.interfaces import Reader
from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.inspection import failures
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import resources

RECOGNIZERS = ("no-egress", "unknown-host")
"""Faults that missing egress causes."""
CONDITION = "traincrew.kubeflow.org/Egress"


async def read(reader: Reader, job: ObservedJob, ends: Sequence[ReplicaEnd]) -> str:
    """Empty: the failure is another one, the node has egress, or it cannot be read."""
    found = failures.diagnose(job, ends)
    if found is None or found.recognizer not in RECOGNIZERS or job.failure is None or not job.failure.node:
        return ""
    try:
        node = msgspec.json.decode(await reader.get(resources.NODES, None, job.failure.node))
    except errors.ApiError:
        return ""  # users may lack the right to read nodes
    conditions = (node.get("status") or {}).get("conditions") or ()
    return next((each["message"] for each in conditions if each["type"] == CONDITION and each["status"] == "False"), "")
