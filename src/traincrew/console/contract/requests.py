"""Bodies of requests, and the answers to those that change something."""

from __future__ import annotations

from traincrew.console.contract.message import Message, Request
from traincrew.console.contract.problems import FieldError


class SignIn(Request, kw_only=True):
    token: str
    """From the fragment of the link that `traincrew console` prints. It is valid once."""


class Link(Message, kw_only=True):
    """The answer to `POST link`, which the command `traincrew console` sends."""

    token: str


class Scale(Request, kw_only=True):
    replicas: int
    """Number of workers."""
    force: bool = False
    """Scale a job that is not elastic, or outside of its limits."""


class Rerun(Request, kw_only=True):
    name: str = ""
    """Name of the new job. Empty: the name of the job with `-` and a number."""


class Delete(Request, kw_only=True):
    uid: str = ""
    """Delete only this object. Empty: whatever has the name."""


class SubmittedObject(Message, kw_only=True):
    api_version: str
    kind_name: str
    namespace: str
    """Empty: the object is not namespaced."""
    name: str
    kind: str
    """The lowercase singular of a job; empty for other objects."""
    line: int


class SubmitResult(Message, kw_only=True):
    """The answer to `POST jobs`. Errors have the shape ApiError, with `fields`."""

    dry_run: bool
    objects: list[SubmittedObject]
    """Created objects in order; with `dryRun` those that would be created."""
    findings: list[FieldError]
    """Warnings."""


class ActionResult(Message, kw_only=True):
    message: str
    """What was done, such as `pytorchjob/mnist suspended`."""
    namespace: str
    kind: str
    name: str
    """The job; that of `rerun` is the new one."""
