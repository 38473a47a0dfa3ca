"""The limits of execve(2) for arguments and variables. They hold while these are expanded: 600 bytes can name gigabytes. PURE."""

from __future__ import annotations

from collections.abc import Mapping

from traincrew.embedded.kubelet.envvars import expansion
from traincrew.embedded.kubelet.envvars.errors import ConfigError

MAX_STRING = 128 << 10
"""MAX_ARG_STRLEN of Linux: the bytes of one argument, or of one variable with its name. The last byte is zero."""
MAX_TOTAL = 2 << 20
"""The bytes of all of them: ARG_MAX, with the usual stack of 8 MiB."""
_POINTER = 8
_SHOWN = 100
"""Characters of a name in a message."""


class ExecSize:
    """The size of the arguments and variables of one process. A variable that is replaced counts twice, for the work it makes."""

    def __init__(self) -> None:
        self._total = 0

    def add_variable(self, name: str, value: str) -> None:
        """Raises ConfigError."""
        self._add(_variable(name), f"{name}={value}")

    def add_argument(self, field: str, value: str) -> None:
        """field: such as args[0]. Raises ConfigError."""
        self._add(field, value)

    def _add(self, what: str, text: str) -> None:
        size = len(text.encode("utf-8", "surrogateescape")) + 1
        if size > MAX_STRING:
            raise _too_long(what)
        self._total += size + _POINTER
        if self._total > MAX_TOTAL:
            limit = f"{MAX_TOTAL >> 20} MiB, the limit of Linux for a process"
            raise ConfigError(f"command, arguments and environment variables are larger than {limit}")


def expand_variable(name: str, text: str, values: Mapping[str, str]) -> str:
    """Raises ConfigError."""
    return _expand(_variable(name), text, values)


def expand_argument(field: str, text: str, values: Mapping[str, str]) -> str:
    """Raises ConfigError."""
    return _expand(field, text, values)


def _expand(what: str, text: str, values: Mapping[str, str]) -> str:
    try:
        return expansion.expand(text, values, MAX_STRING)
    except expansion.TooLong:
        raise _too_long(what) from None


def _variable(name: str) -> str:
    return f'environment variable "{name if len(name) <= _SHOWN else name[:_SHOWN] + "..."}"'


def _too_long(what: str) -> ConfigError:
    return ConfigError(f"{what} is larger than {MAX_STRING >> 10} KiB, the limit of Linux for one argument or variable")
