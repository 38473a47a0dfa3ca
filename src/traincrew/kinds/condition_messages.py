"""The messages of conditions, byte for byte those of the Go operators, which differ slightly between kinds."""

from __future__ import annotations

import dataclasses

from traincrew.model import jobs


@dataclasses.dataclass(frozen=True)
class ConditionMessages:
    created: str = "{kind} {name} is created."
    running: str = "{kind} {name} is running."
    unseen: str = "{kind} {name} is running."
    """Message of the Running condition of a job that ended before it was observed running."""
    suspended: str = "{kind} {name} is suspended."
    paused: str = "{kind} {name} is suspended."
    """Message of the Running condition of a suspended job."""
    resumed: str = "{kind} {name} is resumed."
    succeeded: str = "{kind} {name} is successfully completed."
    failed: str = "{kind} {name} is failed because {count} {role} replica(s) failed."
    permanent: str = 'job "{name}" is failing because "{role}" replica(s) failed.'
    restarting: str = "job {name} is restarting because {role} replica(s) failed."
    backoff: str = "Job {name} has failed because it has reached the specified backoff limit"
    deadline: str = "Job {name} has failed because it was active longer than specified deadline"


PLAIN = ConditionMessages()

QUALIFIED = ConditionMessages(
    running="{kind} {namespace}/{name} is running.",
    succeeded="{kind} {namespace}/{name} successfully completed.",
)


def qualified_without_master(job: jobs.Job) -> ConditionMessages:
    return PLAIN if "Master" in job.roles else QUALIFIED
