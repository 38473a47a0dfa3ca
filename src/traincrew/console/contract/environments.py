"""What a job can run in, apart from its image."""

from __future__ import annotations

from traincrew.console.contract.message import Message


class RuntimeEnvironment(Message, kw_only=True):
    """A virtual or conda environment of this machine."""

    directory: str
    images: list[str]
    """Image names that are mapped to it, as `traincrew image list` prints them."""


class EnvironmentList(Message, kw_only=True):
    """The answer to `GET environments`."""

    environments: list[RuntimeEnvironment]
    """Empty on a cluster."""
    claims: list[str]
    """Names of the volume claims of the namespace, one of which may contain environments. Empty on one machine."""
    notes: list[str] = []
    """What could not be read, and why."""
