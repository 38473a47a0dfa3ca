"""Why a volume or a container's configuration cannot be had, in the kubelet's words.

::

    Unmade                 a volume is not there: the event's reason and message
    ├── NotYet             it may be later: try again
    └── Broken             it will never be: this node does not have such volumes
    ConfigError            a container cannot be configured: CreateContainerConfigError
    Missing                an object that a pod names does not exist
"""

from __future__ import annotations


class Unmade(Exception):
    def __init__(self, message: str, reason: str = "FailedMount") -> None:
        super().__init__(message)
        self.message, self.reason = message, reason


class NotYet(Unmade):
    pass


class Broken(Unmade):
    pass


class ConfigError(Exception):
    def __init__(self, message: str, reason: str = "CreateContainerConfigError") -> None:
        super().__init__(message)
        self.message, self.reason = message, reason


class Missing(Exception):
    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f'{kind} "{name}" not found')


class Unfit(Exception):
    """What one volume lacks; whoever mounts it says which volume."""


def set_up(volume: str, why: object) -> str:
    return f'MountVolume.SetUp failed for volume "{volume}" : {why}'


def processed(volume: str, why: object) -> str:
    told = f"unmounted volumes=[{volume}], unattached volumes=[], failed to process volumes=[{volume}]"
    return f"Unable to attach or mount volumes: {told}: {why}"


def together(found: list[str]) -> str:
    """Several reasons as one, each told once."""
    single = list(dict.fromkeys(found))
    return single[0] if len(single) == 1 else f"[{', '.join(single)}]"
