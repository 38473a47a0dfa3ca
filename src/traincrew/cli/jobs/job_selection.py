"""Which jobs `traincrew ls` shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from traincrew.client import interfaces
from traincrew.inspection import job_references
from traincrew.inspection.job_references import JobReference
from traincrew.inspection.observed_job import ObservedJob


@dataclasses.dataclass(frozen=True)
class JobSelection:
    references: tuple[JobReference, ...] = ()
    """Empty: all jobs."""
    all_namespaces: bool = False

    @classmethod
    def parse(cls, names: Iterable[str], *, all_namespaces: bool) -> JobSelection:
        return cls(tuple(job_references.parse(name) for name in dict.fromkeys(names)), all_namespaces)

    def namespace(self, current: str) -> str | None:
        """The namespace that is read; None: all."""
        return None if self.all_namespaces else current

    def includes(self, job: ObservedJob) -> bool:
        return not self.references or any(_names(each, job) for each in self.references)

    async def missing(self, reader: interfaces.Reader, namespace: str, jobs: Sequence[ObservedJob]) -> list[str]:
        """An error for each reference that names none of the jobs."""
        unknown = [each for each in self.references if not any(_names(each, job) for job in jobs)]
        if self.all_namespaces:
            return [f'{each.kind_name} "{each.name}" not found in any namespace' for each in unknown]
        return [await job_references.not_found_message(reader, namespace, each) for each in unknown]


def _names(reference: JobReference, job: ObservedJob) -> bool:
    return reference.name == job.job.name and (reference.kind is None or reference.kind.resource == job.kind.resource)
