"""Names of objects that the operator may create and must not read: whether an existing object is the job's own.

The status of the job shows it, because it is written before each attempt to create the object:

- a job without a status and without any other object: no operator has tried to create the object, which comes first;
- the name is in `status.nameConflicts`: others have taken it, and no operator has tried since;
- otherwise an operator may have created the object, and may have been killed before it knew. An existing object is the job's.
"""

from __future__ import annotations

import msgspec

from traincrew.model import resources
from traincrew.model.status import JobStatus
from traincrew.planner.actions import Create
from traincrew.planner.replicas import Replicas

UNREADABLE = (resources.SECRETS,)


def is_first_attempt(replicas: Replicas, action: Create) -> bool:
    """Whether the status that is written before this action is the first that allows it."""
    if action.resource not in UNREADABLE:
        return False
    status, observed = replicas.job.status, replicas.observed
    if status == JobStatus():
        return not (observed.services or observed.config_maps or observed.batch_jobs or observed.pods)
    return action.reference in status.name_conflicts and observed.name_conflicts.get(action.reference) is False


def record(replicas: Replicas, status: JobStatus) -> JobStatus:
    known = replicas.observed.name_conflicts
    names = sorted(name for name in {*status.name_conflicts, *known} if known.get(name, True))
    return status if names == status.name_conflicts else msgspec.structs.replace(status, name_conflicts=names)
