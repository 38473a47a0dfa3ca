"""Which job has which ports of the nodes: as the statuses say, and as statuses will say that are being written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence

from traincrew.operator.job_key import JobKey

Ports = Mapping[str, Sequence[int]]


class _Book:
    """Ports by job, and jobs by port."""

    def __init__(self) -> None:
        self._by_job: dict[str, frozenset[int]] = {}
        self._by_port: dict[int, set[str]] = {}

    def put(self, uid: str, ports: Ports) -> bool:
        """These and no others; True if any was given back."""
        new = frozenset(port for found in ports.values() for port in found)
        old = self._by_job.pop(uid, frozenset())
        if new:
            self._by_job[uid] = new
        for port in old - new:
            holders = self._by_port[port]
            holders.discard(uid)
            if not holders:
                del self._by_port[port]
        for port in new - old:
            self._by_port.setdefault(port, set()).add(uid)
        return bool(old - new)

    def held(self, port: int, but_by: str) -> bool:
        holders = self._by_port.get(port)
        return bool(holders) and holders != {but_by}


class Ledger:
    def __init__(self, wake: Callable[[JobKey], None]) -> None:
        self.busy: Callable[[], Collection[int]] | None = None
        """Ports that somebody else has, where all nodes are this machine."""
        self._written, self._promised = _Book(), _Book()
        self._waiting: dict[str, JobKey] = {}
        self._wake = wake

    def taken(self, uid: str) -> Container[int]:
        """What that job cannot have."""
        return _Taken(lambda port: self._written.held(port, uid) or self._promised.held(port, uid), self.busy)

    def promise(self, uid: str, ports: Ports) -> None:
        """To be called before anybody else can plan: a status with these is about to be written."""
        self._promised.put(uid, ports)

    def seen(self, uid: str, ports: Ports) -> None:
        """What the job's status says now."""
        self._freed(self._written.put(uid, ports))

    def settle(self, uid: str) -> None:
        """What was promised has been written and seen, or never will be."""
        self._freed(self._promised.put(uid, {}))

    def forget(self, uid: str) -> None:
        """The job is gone."""
        self._waiting.pop(uid, None)
        freed = [book.put(uid, {}) for book in (self._written, self._promised)]
        self._freed(any(freed))

    def waits(self, uid: str, key: JobKey, lacks: bool) -> None:
        """Whether the job waits for ports that others have."""
        if lacks:
            self._waiting[uid] = key
        else:
            self._waiting.pop(uid, None)

    def _freed(self, any_given_back: bool) -> None:
        if any_given_back:
            for key in self._waiting.values():
                self._wake(key)


class _Taken:
    """What else listens on this machine is found out only if somebody asks."""

    def __init__(self, held: Callable[[int], bool], busy: Callable[[], Collection[int]] | None) -> None:
        self._held, self._ask = held, busy
        self._busy: Collection[int] | None = None

    def __contains__(self, port: object) -> bool:
        if not isinstance(port, int) or self._held(port):
            return True
        if self._ask is not None and self._busy is None:
            self._busy = self._ask()
        return port in (self._busy or ())
