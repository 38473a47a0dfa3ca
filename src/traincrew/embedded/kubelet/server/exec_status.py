"""The Status that ends an exec session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Status = dict[str, Any]

SUCCESS: Status = {"metadata": {}, "status": "Success"}


def from_exit_code(command: Sequence[str], code: int) -> Status:
    if code == 0:
        return SUCCESS
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: error executing command [{' '.join(command)}], exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def from_error(message: str) -> Status:
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {message}",
        "reason": "InternalError",
        "details": {"causes": [{"message": message}]},
        "code": 500,
    }
