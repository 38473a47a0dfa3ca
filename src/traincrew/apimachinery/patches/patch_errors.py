"""The answer to a patch that does not apply."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.api_errors import StatusError


class PatchRejected(StatusError):
    """The same whatever the reason: a Kubernetes API server does not tell."""

    def __init__(self) -> None:
        super().__init__(422, "Invalid", "the server rejected our request due to an error in our request")

    def status(self) -> dict[str, Any]:
        return super().status() | {"details": {}}
