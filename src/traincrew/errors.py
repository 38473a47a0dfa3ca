"""The errors that traincrew raises.

::

    TraincrewError
    ├── UserError                 invalid input; the message names the input and the remedy
    │   ├── ManifestError         a file that is not YAML, or contains no object
    │   ├── SettingsError         a flag, environment variable or settings file with an invalid value
    │   ├── KubeconfigError       no usable cluster in the kubeconfig
    │   ├── NotRunning            no cluster is running on this machine, or it did not start
    │   ├── UnsuitableState       the command cannot do its work in the state in which cluster or job are
    │   ├── NoJob                 the cluster has no job of that name
    │   ├── AmbiguousJob          the cluster has jobs of several kinds with that name
    │   ├── NoCluster             a console that shows recordings has no cluster to ask
    │   ├── RecordingError        a file that is not a recording, or a damaged, newer or too large one
    │   └── StoreError            a data file that cannot be opened: in use, corrupt, from a newer version, not writable
    └── ApiError                  an error response of a Kubernetes API server, or no response
        ├── TemporaryError        the same request may succeed later: retry with back-off
        │   ├── TooManyRequests       429; `retry_after` is the time to wait
        │   ├── ServerError           500, 502, 503, 504
        │   └── Unreachable           no response: connection refused, reset or timed out
        ├── Conflict              409: the object has changed; read it again and decide again
        ├── AlreadyExists         409: an object of that name exists
        ├── NotFound              404
        ├── Expired               410: the resource version is no longer available; list again
        ├── Unauthorized          401, after the credentials were read again once
        ├── Forbidden             403: RBAC or admission; the message says which
        │   └── QuotaExceeded         a quota of the namespace does not allow the object
        └── Rejected              400, 405, 413, 415, 422: the same request would fail again

The type determines whether to retry: only the request of a `TemporaryError` may be repeated unchanged. After `Conflict`,
`AlreadyExists`, `NotFound` and `Expired` the caller reads the state again. All other errors are reported on the job.
"""

from __future__ import annotations

import dataclasses

STRICT_DECODING = "strict decoding error: "
"""Of the API server, before the unknown fields of an object."""


class TraincrewError(Exception):
    """The root of all errors. Catch it only in the entry point of a process."""


class UserError(TraincrewError):
    """Invalid input. The message is shown to the user."""


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


class AmbiguousJob(UserError):
    pass


class UnsuitableState(UserError):
    """Not invalid input: the same command may succeed later."""


class NoCluster(UserError):
    pass


class RecordingError(UserError):
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
        """An earlier attempt of the same request got no response. That attempt may have caused this error."""


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


class QuotaExceeded(Forbidden):
    pass


class Rejected(ApiError):
    pass
