"""Errors in the configuration of a container, with the kubelet's messages."""

from __future__ import annotations


class ConfigError(Exception):
    def __init__(self, message: str, reason: str = "CreateContainerConfigError") -> None:
        super().__init__(message)
        self.message, self.reason = message, reason


class ObjectNotFound(Exception):
    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f'{kind} "{name}" not found')
