"""Errors as the page shows them: what was tried, the words of the server, the next step, the missing right."""

from __future__ import annotations

import re

from traincrew import errors
from traincrew.console.contract.problems import ApiError, FieldError, MissingRight

_FORBIDDEN = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"/]*)(?:/(?P<subresource>[^"]*))?"'
    r' in API group "(?P<group>[^"]*)"(?: in the namespace "(?P<namespace>[^"]*)")?'
)
_NAME = re.compile(r'^\S+ "(?P<name>[^"]+)" is forbidden')
_TYPES: tuple[tuple[type[errors.TraincrewError], str, int], ...] = (
    (errors.Forbidden, "Forbidden", 403),
    (errors.Unauthorized, "Unauthorized", 502),
    (errors.NotFound, "NotFound", 404),
    (errors.NoJob, "NotFound", 404),
    (errors.NoCluster, "NoCluster", 409),
    (errors.AlreadyExists, "AlreadyExists", 409),
    (errors.Conflict, "Conflict", 409),
    (errors.Unreachable, "Unreachable", 503),
    (errors.TooManyRequests, "TooManyRequests", 503),
    (errors.ServerError, "ServerError", 502),
    (errors.Expired, "Expired", 410),
    (errors.Rejected, "Invalid", 422),
    (errors.ManifestError, "Invalid", 422),
    (errors.UserError, "Invalid", 422),
)
NEXT_STEPS = {
    "Unauthorized": "Check the credentials in the kubeconfig, then run `traincrew console` again.",
    "NotFound": "Go back to the list of jobs: it may have been deleted in another window.",
    "NoCluster": "Run `traincrew console`.",
    "AlreadyExists": "Choose another name, or delete the existing object first.",
    "Conflict": "The object has changed meanwhile. Look at its current state and try again.",
    "Unreachable": "Check that the cluster is running: run `traincrew status`, or `traincrew up --detach` to start it.",
    "TooManyRequests": "Wait a moment and try again.",
    "ServerError": "Try again. If it fails again, look at the log of the API server.",
    "Expired": "Load the page again.",
}


class Problem(errors.TraincrewError):
    """An error that is complete already."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(error.message)
        self.error = error


def problem(reason: str, code: int, tried: str, message: str, next_step: str = "") -> Problem:
    return Problem(ApiError(tried=tried, message=message, reason=reason, code=code, next_step=next_step))


def of(error: Exception, tried: str) -> ApiError:
    if isinstance(error, Problem):
        return error.error
    reason, code = next(((reason, code) for kind, reason, code in _TYPES if isinstance(error, kind)), ("InternalError", 500))
    if reason == "InternalError":
        return ApiError(
            tried=tried,
            message="the console made an error",
            reason=reason,
            code=code,
            next_step="Look at the output of `traincrew console`.",
        )
    right = missing_right(str(error)) if reason == "Forbidden" else None
    return ApiError(
        tried=tried,
        message=str(error),
        reason=reason,
        code=code,
        next_step=rights_step(right) if right is not None else NEXT_STEPS.get(reason, ""),
        fields=field_errors(error) if isinstance(error, errors.ApiError) else [],
        missing_right=right,
    )


def missing_right(message: str) -> MissingRight | None:
    """The right that a message of the RBAC authorizer names; None if another authorizer or an admission plugin refused."""
    found = _FORBIDDEN.search(message)
    if found is None:
        return None
    named = _NAME.search(message)
    values = {key: value or "" for key, value in found.groupdict().items()}
    return MissingRight(name=named["name"] if named is not None else "", **values)


def rights_step(right: MissingRight) -> str:
    group, subresource = (f".{right.group}" if right.group else ""), (f"/{right.subresource}" if right.subresource else "")
    place = f" in namespace {right.namespace}" if right.namespace else " in all namespaces"
    return f"Ask an administrator for the right to {right.verb} {right.resource}{group}{subresource}{place}."


def field_errors(error: errors.ApiError) -> list[FieldError]:
    return [FieldError(path=cause.field, message=cause.message) for cause in error.causes if cause.message]
