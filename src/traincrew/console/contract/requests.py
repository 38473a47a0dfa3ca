"""Bodies of requests, and the answers to those that change something."""

from __future__ import annotations

from typing import Literal

from traincrew.console.contract.message import Message, Request
from traincrew.console.contract.problems import FieldError

SignInMethod = Literal["link", "token", "kubeconfig", "proxy"]


class SignIn(Request, kw_only=True):
    token: str = ""
    """`link`: from the fragment of the link that `traincrew console` prints; it is valid once. `token`: a bearer token of the
    cluster."""
    kubeconfig: str = ""
    """The text of a kubeconfig. Only the token or the client certificate of its current context is used."""
    namespace: str = ""
    """The namespace to show if the user may not list jobs of all namespaces. Empty: that of the kubeconfig or service account."""


class SignInOptions(Message, kw_only=True):
    """How users sign in to this console."""

    methods: list[SignInMethod]


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
