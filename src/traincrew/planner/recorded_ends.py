"""The end of a replica from the record of its failure, as diagnosis needs it. The commands that explain failures import it."""

from __future__ import annotations

import dataclasses

from traincrew.diagnosis import cause
from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.model import jobs
from traincrew.model.status import Failure


def replica_end(record: Failure, memory_limit: str = "") -> ReplicaEnd:
    """The recorded end of a replica, as diagnosis needs it."""
    end = ReplicaEnd(record.replica, record.message, record.exit_code, record.reason, record.time, record.container)
    return dataclasses.replace(end, signal=record.signal, memory_limit=memory_limit, silent=record.cause == cause.SILENT)


def memory_limit(job: jobs.Job, role: str, container: str) -> str:
    """The memory limit in the template of the role. Empty: there is none, or the cluster has added the container."""
    containers = job.roles[role].containers if role in job.roles else []
    named = next((each for each in containers if each.get("name") == container), {})
    return str(((named.get("resources") or {}).get("limits") or {}).get("memory") or "")
