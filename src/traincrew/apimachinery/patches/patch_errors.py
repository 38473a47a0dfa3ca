"""The error for a patch that cannot be applied."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.api_errors import StatusError


class PatchRejected(StatusError):
    """The API server does not report the reason."""

    def __init__(self) -> None:
        super().__init__(422, "Invalid", "the server rejected our request due to an error in our request")

    def status(self) -> dict[str, Any]:
        return super().status() | {"details": {}}
