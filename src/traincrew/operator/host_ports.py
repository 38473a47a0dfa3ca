"""The host ports of jobs: in their statuses, and in statuses that are being written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence

from traincrew.operator.job_key import JobQueueKey

Ports = Mapping[str, Sequence[int]]


class _PortIndex:
    """Ports by job, and jobs by port."""

    def __init__(self) -> None:
        self._by_job: dict[str, frozenset[int]] = {}
        self._by_port: dict[int, set[str]] = {}

    def put(self, uid: str, ports: Ports) -> bool:
        """Replaces the ports of a job; True if it released any."""
        new = frozenset(port for of_role in ports.values() for port in of_role)
        old = self._by_job.pop(uid, frozenset())
        if new:
            self._by_job[uid] = new
        for port in old - new:
            owners = self._by_port[port]
            owners.discard(uid)
            if not owners:
                del self._by_port[port]
        for port in new - old:
            self._by_port.setdefault(port, set()).add(uid)
        return bool(old - new)

    def taken(self, port: int, except_by: str) -> bool:
        owners = self._by_port.get(port)
        return bool(owners) and owners != {except_by}


class PortAllocations:
    def __init__(self, enqueue: Callable[[JobQueueKey], None]) -> None:
        """enqueue: called for each job that waits for ports when another job releases ports."""
        self.listening: Callable[[], Collection[int]] | None = None
        """Ports on which other processes listen, where every node is this machine."""
        self._written, self._reserved = _PortIndex(), _PortIndex()
        self._waiting: dict[str, JobQueueKey] = {}
        self._enqueue = enqueue

    def taken(self, uid: str) -> Container[int]:
        """Ports that are not available to this job."""
        return _Taken(lambda port: self._written.taken(port, uid) or self._reserved.taken(port, uid), self.listening)

    def reserve(self, uid: str, ports: Ports) -> None:
        """Called before a status with these ports is written, and before any other job is planned."""
        self._reserved.put(uid, ports)

    def observed(self, uid: str, ports: Ports) -> None:
        """The ports in the job's status."""
        self._notify(self._written.put(uid, ports))

    def end_reservation(self, uid: str) -> None:
        """The status is written and observed, or never will be."""
        self._notify(self._reserved.put(uid, {}))

    def forget(self, uid: str) -> None:
        """The job is gone."""
        self._waiting.pop(uid, None)
        freed = [index.put(uid, {}) for index in (self._written, self._reserved)]
        self._notify(any(freed))

    def set_waiting(self, uid: str, key: JobQueueKey, waiting: bool) -> None:
        """Whether the job waits for ports that other jobs have."""
        if waiting:
            self._waiting[uid] = key
        else:
            self._waiting.pop(uid, None)

    def _notify(self, any_freed: bool) -> None:
        if any_freed:
            for key in self._waiting.values():
                self._enqueue(key)


class _Taken:
    """The listening ports of this machine are read only if a port is looked up."""

    def __init__(self, allocated: Callable[[int], bool], listening: Callable[[], Collection[int]] | None) -> None:
        self._allocated, self._read = allocated, listening
        self._listening: Collection[int] | None = None

    def __contains__(self, port: object) -> bool:
        if not isinstance(port, int) or self._allocated(port):
            return True
        if self._read is not None and self._listening is None:
            self._listening = self._read()
        return port in (self._listening or ())
