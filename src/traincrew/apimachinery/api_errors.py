"""API errors: Status objects with the reasons, codes and messages of the Kubernetes API server."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from traincrew.apimachinery import go_format
from traincrew.apimachinery.field_errors import FieldError


@dataclasses.dataclass(frozen=True)
class StatusDetails:
    """`details` of a Status. `kind` is the plural of a resource, but the kind itself for invalid objects."""

    kind: str = ""
    group: str = ""
    name: str = ""
    uid: str = ""

    @property
    def resource(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


NO_DETAILS = StatusDetails()


class PlainTextError(Exception):
    """An HTTP error without a Status, such as that of an unknown path."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def page_not_found() -> PlainTextError:
    return PlainTextError(404, "404 page not found\n")


class StatusError(Exception):
    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        subject: StatusDetails = NO_DETAILS,
        *,
        causes: Sequence[dict[str, str]] = (),
        retry_after: int = 0,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.subject = code, reason, message, subject
        self.causes, self.retry_after = tuple(causes), retry_after
        self.continued = ""
        """A continue token for an inconsistent continuation of an expired list."""
        self.warnings: tuple[str, ...] = ()
        self.routed = False
        """The router raised the error before the resource was known: the details are present but empty."""

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continued} if self.continued else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if (details := self._details()) or self.routed:
            status["details"] = details
        return status | {"code": self.code}

    def _details(self) -> dict[str, Any]:
        subject = self.subject
        details: dict[str, Any] = {"name": subject.name, "group": subject.group, "kind": subject.kind, "uid": subject.uid}
        details |= {"causes": list(self.causes), "retryAfterSeconds": self.retry_after}
        return {key: value for key, value in details.items() if value}


def not_found(subject: StatusDetails) -> StatusError:
    return StatusError(404, "NotFound", f"{subject.resource} {go_format.quote(subject.name)} not found", subject)


def path_not_found() -> StatusError:
    return router_error(404, "NotFound", "the server could not find the requested resource")


def router_error(code: int, reason: str, message: str) -> StatusError:
    error = StatusError(code, reason, message)
    error.routed = True
    return error


def already_exists(subject: StatusDetails) -> StatusError:
    return StatusError(409, "AlreadyExists", f'{subject.resource} "{subject.name}" already exists', subject)


def conflict(subject: StatusDetails, why: str) -> StatusError:
    message = f'Operation cannot be fulfilled on {subject.resource} "{subject.name}": {why}'
    return StatusError(409, "Conflict", message, subject)


OPTIMISTIC_LOCK_ERROR = "the object has been modified; please apply your changes to the latest version and try again"


def optimistic_lock_conflict(subject: StatusDetails) -> StatusError:
    return conflict(subject, OPTIMISTIC_LOCK_ERROR)


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> StatusError:
    """422 with all field errors."""
    texts = list(dict.fromkeys(str(each) for each in errors))  # repeated errors are listed once, but each is a cause
    message = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    causes = [{"reason": each.reason, "message": each.message, "field": each.path} for each in errors]
    qualified_kind = f"{kind}.{group}" if group else kind
    return StatusError(
        422, "Invalid", f'{qualified_kind} "{name}" is invalid: {message}', StatusDetails(kind, group, name), causes=causes
    )


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def forbidden(subject: StatusDetails, why: str) -> StatusError:
    named = f'{subject.resource} "{subject.name}"' if subject.name else subject.resource
    return StatusError(403, "Forbidden", f"{named} is forbidden: {why}", subject)


def unauthorized(message: str = "Unauthorized") -> StatusError:
    return StatusError(401, "Unauthorized", message)


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def method_not_allowed() -> StatusError:
    return router_error(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def method_not_supported(subject: StatusDetails, verb: str) -> StatusError:
    """method_not_allowed for custom resources, whose message differs."""
    message = f'{verb} is not supported on resources of kind "{subject.resource}"'
    return StatusError(405, "MethodNotAllowed", message, StatusDetails(subject.kind, subject.group))


def unsupported_media_type(message: str) -> StatusError:
    return StatusError(415, "UnsupportedMediaType", message)


def request_entity_too_large(message: str) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", message)


def internal_error(message: str) -> StatusError:
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", causes=[{"message": message}])


def service_unavailable(message: str, retry_after: int = 1) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message, retry_after=retry_after)
