"""Every error that traincrew raises on purpose.

::

    TraincrewError
    ├── UserError                 what a person typed or wrote; the message says where and what to do
    │   ├── ManifestError         a file that is not YAML, or holds no object
    │   ├── SettingsError         a flag, variable or settings file with a value that cannot be
    │   ├── KubeconfigError       no cluster can be reached with what was given
    │   ├── NotRunning            there is no cluster on this machine, or it did not come up
    │   ├── NoJob                 the cluster has no job of that name
    │   └── StoreError            a data file that cannot be opened: in use, damaged, of a newer version, not writable
    └── ApiError                  an answer of a Kubernetes API server (or its absence)
        ├── TemporaryError        the same request may succeed later: retry with back-off
        │   ├── TooManyRequests       429; `retry_after` says when
        │   ├── ServerFault           500, 502, 503, 504
        │   └── Unreachable           no answer at all: refused, reset, timed out
        ├── Conflict              409: the object has changed; look again, then decide again
        ├── AlreadyExists         409: somebody made an object of that name
        ├── NotFound              404
        ├── Expired               410: that resource version is no longer kept; list again
        ├── Unauthorized          401: credentials are re-read once, then it is raised
        ├── Forbidden             403: RBAC or quota; the message says which
        └── Rejected              400, 405, 413, 415, 422: retrying the same request is useless

The type says whether to retry: only `TemporaryError` may be retried unchanged. Whoever catches `Conflict`, `AlreadyExists`,
`NotFound` or `Expired` must look at the world again. Everything else is told to the user on the job.
"""

from __future__ import annotations

import dataclasses


class TraincrewError(Exception):
    """The root; catch it only at the edge of a process."""


class UserError(TraincrewError):
    """Somebody's input cannot be used; the message is meant for that person."""


class ManifestError(UserError):
    pass


class SettingsError(UserError):
    pass


class KubeconfigError(UserError):
    pass


class NotRunning(UserError):
    pass


class NoJob(UserError):
    pass


class StoreError(UserError):
    pass


@dataclasses.dataclass(frozen=True)
class Cause:
    """One entry of a Status object's details.causes."""

    reason: str = ""
    message: str = ""
    field: str = ""


class ApiError(TraincrewError):
    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        causes: tuple[Cause, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.causes = causes
        self.retry_after = retry_after
        self.uncertain = False
        """An earlier attempt at the same request got no answer: it may be what this error is about."""


class TemporaryError(ApiError):
    pass


class TooManyRequests(TemporaryError):
    pass


class ServerError(TemporaryError):
    pass


class Unreachable(TemporaryError):
    pass


class Conflict(ApiError):
    pass


class AlreadyExists(ApiError):
    pass


class NotFound(ApiError):
    pass


class Expired(ApiError):
    pass


class Unauthorized(ApiError):
    pass


class Forbidden(ApiError):
    pass


class Rejected(ApiError):
    pass
