"""Resource usage of the replicas of a job, and series that are found in their output."""

from __future__ import annotations

from traincrew.console.contract.message import Message, Request


class UsageSeries(Message, kw_only=True):
    """What a replica uses. The lists have one value for each of `times`; null: not measured then."""

    replica: str
    """Such as `worker-1`."""
    pod: str
    cpu_request: float | None = None
    """Cores. Null: none."""
    cpu_limit: float | None = None
    memory_request: int | None = None
    """Bytes. Null: none."""
    memory_limit: int | None = None
    times: list[int]
    """Milliseconds since 1970, ascending."""
    cpu: list[float | None]
    """Cores."""
    memory: list[int | None]
    """Bytes."""
    network_received: list[float | None] = []
    """Bytes a second, as Prometheus has them. Empty: it does not, or there is none."""
    network_sent: list[float | None] = []
    gpu: list[float | None] = []
    """Utilization of the GPUs of the replica, from 0 to 1, of Prometheus."""
    gpu_memory: list[int | None] = []
    """Bytes."""


class OutputSeries(Message, kw_only=True):
    """Numbers that a replica has printed, such as its loss. They are guessed from its output: say so where they are shown."""

    name: str
    """Such as `loss` or `images/sec`."""
    replica: str
    times: list[int]
    """Milliseconds since 1970. Long series are thinned out."""
    values: list[float | None]
    """Null: printed as NaN or infinity."""
    steps: list[float | None]
    """The step on the same line. Null: the line has none."""
    line: str
    """The last line that had a value."""


class JobMetrics(Message, kw_only=True):
    usage: list[UsageSeries]
    """Since the console has been looking at the job. Empty: see `unavailable`, or nothing was measured yet."""
    output: list[OutputSeries]
    """By replica, then in the order in which they were first printed."""
    interval: float
    """Seconds between two samples of the usage."""
    unavailable: str = ""
    """Why the usage is not known, and what to do. Empty: it is."""
    errors: list[str] = []
    """Why the output of replicas, or Prometheus, could not be read."""


class TryPattern(Request, kw_only=True):
    pattern: str = ""
    """Empty: the patterns that the console uses by itself."""
    text: str
    """Lines of output."""


class PatternMatch(Message, kw_only=True):
    line: int
    """Counted from 1."""
    name: str
    value: float | None
    step: float | None


class PatternMatches(Message, kw_only=True):
    """What a pattern finds. A pattern that is not valid is an error (`Invalid`)."""

    matches: list[PatternMatch]
