"""The one shape of every error."""

from __future__ import annotations

from typing import Literal

from traincrew.console.contract.message import Message


class FieldError(Message, kw_only=True):
    """A problem of a manifest, at its field and its line."""

    path: str = ""
    """Such as `spec.mpiReplicaSpecs.Worker.replicas`. Empty: the whole document."""
    line: int = 0
    """Counted from 1 in the text that was sent. 0: unknown."""
    column: int = 0
    message: str
    level: Literal["error", "warning"] = "error"


class MissingRight(Message, kw_only=True):
    """The right that the API server requires."""

    user: str = ""
    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class ApiError(Message, kw_only=True):
    tried: str
    """What the console tried to do, such as `suspend pytorchjob/mnist in namespace default`."""
    message: str
    """The words of the API server, or those of the console if it did not ask the API server."""
    reason: str
    """Such as `Forbidden`, `NotFound`, `Conflict`, `Invalid`, `Unreachable`, `SignInRequired`."""
    code: int
    """The HTTP status."""
    next_step: str = ""
    """What to do, in the imperative."""
    fields: list[FieldError] = []
    missing_right: MissingRight | None = None
