"""Errors of volumes, with the kubelet's messages.

::

    VolumeError                a volume cannot be mounted; has the reason and the message of the event
    ├── VolumeNotReady         the mount is retried
    └── VolumeUnsupported      this node does not support the volume; the mount is not retried
"""

from __future__ import annotations


class VolumeError(Exception):
    def __init__(self, message: str, reason: str = "FailedMount") -> None:
        super().__init__(message)
        self.message, self.reason = message, reason


class VolumeNotReady(VolumeError):
    pass


class VolumeUnsupported(VolumeError):
    pass


class VolumeSourceError(Exception):
    """The source of a volume cannot be used. The mounter adds the name of the volume."""


def setup_failed(volume: str, why: object) -> str:
    return f'MountVolume.SetUp failed for volume "{volume}" : {why}'


def attach_failed(volume: str, why: object) -> str:
    message = f"unmounted volumes=[{volume}], unattached volumes=[], failed to process volumes=[{volume}]"
    return f"Unable to attach or mount volumes: {message}: {why}"


def join_reasons(reasons: list[str]) -> str:
    """Joins reasons without duplicates, as Kubernetes' aggregate errors."""
    single = list(dict.fromkeys(reasons))
    return single[0] if len(single) == 1 else f"[{', '.join(single)}]"
