"""Admits the sysctls of a pod: the safe ones, and the unsafe ones that the node allows. The messages are those of the kubelet."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

from traincrew.apimachinery import sysctls
from traincrew.embedded.kubelet.lifecycle.observed import Rejection

FORBIDDEN = "SysctlForbidden"
_LONGEST_NAME = 253
_PATTERN = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]"


class InvalidPattern(ValueError):
    """The node cannot allow these sysctls."""


@dataclasses.dataclass(frozen=True)
class SysctlAllowlist:
    names: frozenset[str] = frozenset(sysctls.SAFE)
    prefixes: tuple[str, ...] = ()

    @classmethod
    def with_unsafe(cls, patterns: Iterable[str]) -> SysctlAllowlist:
        """patterns: names, or beginnings of names that end with an asterisk. Raises InvalidPattern."""
        unsafe = [_validated(each) for each in patterns]
        names = frozenset(each for each in unsafe if not each.endswith("*"))
        return cls(frozenset(sysctls.SAFE) | names, tuple(each[:-1] for each in unsafe if each.endswith("*")))

    def admit(self, spec: Mapping[str, Any], shares_host_namespaces: bool) -> Rejection | None:
        """None: the pod is admitted. shares_host_namespaces: pods of this node have no network and IPC namespaces."""
        context = spec.get("securityContext") or {}
        shared = {
            sysctls.KernelNamespace.IPC: shares_host_namespaces or bool(spec.get("hostIPC")),
            sysctls.KernelNamespace.NET: shares_host_namespaces or bool(spec.get("hostNetwork")),
        }
        for each in context.get("sysctls") or ():
            if error := self._error(sysctls.normalize_name(each["name"]), shared):
                return Rejection(FORBIDDEN, f"forbidden sysctl: {error}")
        return None

    def _error(self, name: str, shared: Mapping[sysctls.KernelNamespace, bool]) -> str:
        namespace = sysctls.namespace_of(name)
        if namespace is None or not (name in self.names or name.startswith(self.prefixes)):
            return f'"{name}" not allowlisted'
        return f'"{name}" not allowed with host {namespace} enabled' if shared[namespace] else ""


def _validated(pattern: str) -> str:
    if len(pattern) > _LONGEST_NAME or not re.fullmatch(_PATTERN, pattern):
        raise InvalidPattern(f'sysctl "{pattern}" must have at most {_LONGEST_NAME} characters and match regex {_PATTERN}')
    name = sysctls.normalize_name(pattern)
    if sysctls.namespace_of(name.removesuffix("*")) is None:
        raise InvalidPattern(f'the sysctls "{name}" are not known to be namespaced')
    return name
