"""A validation rule of jobs, and the violations that rules and checks find."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from traincrew.model import jobs
from traincrew.model.meta import Struct

if TYPE_CHECKING:
    from traincrew.kinds.kind import JobKind


class Violation(Struct):
    """A field of a job with a value that is not allowed, or that is allowed but probably a mistake."""

    path: str
    message: str
    server: bool = True
    """The API server rejects the job too, by schema or CEL. False: the operator reports it on the job."""


def unenforced(path: str, message: str) -> Violation:
    """A violation that the API server does not enforce."""
    return Violation(path=path, message=message, server=False)


@dataclasses.dataclass(frozen=True)
class Rule:
    """A validation rule in two languages: CEL for the CRD, Python for the CLI and the embedded API server.

    Kubernetes 1.27 supports neither `reason` nor `fieldPath` of a CEL rule, hence the message names the field.
    """

    at: Literal["object", "spec", "policy", "queue", "replicas", "template-spec"]
    """The schema node of the rule: the whole object, spec, runPolicy, its queue, the replica map, a pod spec."""
    cel: str
    message: str
    check: Callable[[JobKind, jobs.Job], Iterable[Violation]] = lambda kind, job: ()
    counts: str = ""
    """The role whose replicas the rule compares. CEL then rejects 1.0, which the schema accepts as an integer."""
