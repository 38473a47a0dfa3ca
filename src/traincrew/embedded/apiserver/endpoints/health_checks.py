"""The health endpoints: /livez, /readyz and /healthz with their checks, in the format of kube-apiserver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Checks = Mapping[str, Callable[[], str]]
"""By name: returns the reason of a failure; an empty text is a success."""


def ping() -> str:
    return ""


class HealthReport(NamedTuple):
    healthy: bool
    text: str


class HealthChecks:
    """The checks of each endpoint."""

    def __init__(self, ready: Checks) -> None:
        """ready: not of /livez. A restart gives a full disk no space, and would end the reads and watches that still work."""
        live: Checks = {"ping": ping}
        self._endpoints: dict[str, Checks] = {"livez": live, "healthz": live, "readyz": {**live, **ready}}

    def report(self, path: str, verbose: bool, excluded: Sequence[str]) -> HealthReport | None:
        """Of an endpoint, or of one of its checks (/readyz/storage); None if there is none at the path."""
        endpoint, _, name = path[1:].partition("/")
        checks = self._endpoints.get(endpoint)
        if checks is None or (name and name not in checks) or path.endswith("/"):
            return None
        return _single(checks[name]()) if name else _all(endpoint, checks, verbose, excluded)


def _single(reason: str) -> HealthReport:
    return HealthReport(False, f"internal server error: {reason}\n") if reason else HealthReport(True, "ok")


def _all(endpoint: str, checks: Checks, verbose: bool, excluded: Sequence[str]) -> HealthReport:
    """A failure is always verbose. Its reason is only shown by the check itself, which needs a permission."""
    failed = {name for name, check in checks.items() if name not in excluded and check()}
    if not failed and not verbose:
        return HealthReport(True, "ok")
    lines = [_line(name, name in excluded, name in failed) for name in checks]
    if unknown := sorted(set(excluded) - set(checks)):
        quoted = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}\n")
    return HealthReport(not failed, "".join([*lines, f"{endpoint} check {'failed' if failed else 'passed'}\n"]))


def _line(name: str, excluded: bool, failed: bool) -> str:
    return f"[-]{name} failed: reason withheld\n" if failed else f"[+]{name} {'excluded: ' if excluded else ''}ok\n"
