"""Statuses of jobs that a Go operator writes while this operator is running, found in the managed fields of the jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from traincrew.kinds.kind import JobKind
from traincrew.kinds.other_operators import OtherOperator
from traincrew.model.lenient_decoding import Unreadable
from traincrew.model.meta import Struct, Time
from traincrew.operator.unreadable_objects import Decode


class StatusWrite(Struct):
    operator: OtherOperator
    manager: str
    job: str
    time: Time | None = None


class _ManagedFields(Struct):
    manager: str = ""
    subresource: str = ""
    time: Time | None = None


class _Meta(Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    managed_fields: list[_ManagedFields] = []


class _Job(Struct):
    metadata: _Meta


_decoder = msgspec.json.Decoder(_Job)


class StatusWriters:
    def __init__(self, on_write: Callable[[StatusWrite], None]) -> None:
        self._on_write = on_write
        self._latest: dict[tuple[str, str], Time] = {}
        """Time of the latest status of a job, by UID, that a manager wrote."""
        self.started = False
        """Whether all jobs were listed once: writes from then on are reported."""

    def noting(self, kind: JobKind, decode: Decode) -> Decode:
        """The decoder of a store of jobs that notes who wrote their statuses."""
        operators = {manager: each for each in kind.other_operators for manager in each.field_managers}
        # Most jobs have no status of another operator. A search for bytes costs little.
        marks = [f'"manager":"{manager}"'.encode() for manager in operators]

        def read(raw: bytes) -> tuple[Any, tuple[Unreadable, ...]]:
            found = decode(raw)
            if any(mark in raw for mark in marks):
                for write in _writes(kind, operators, raw):
                    self._note(found[0].metadata.uid, write)
            return found

        return read

    def _note(self, uid: str, write: StatusWrite) -> None:
        key = (uid, write.manager)
        if write.time is None or (key in self._latest and write.time <= self._latest[key]):
            return
        self._latest[key] = write.time
        if self.started:
            self._on_write(write)

    def forget(self, uid: str) -> None:
        for key in [key for key in self._latest if key[0] == uid]:
            del self._latest[key]


def _writes(kind: JobKind, operators: dict[str, OtherOperator], raw: bytes) -> Iterator[StatusWrite]:
    meta = _decoder.decode(raw).metadata
    job = f"{kind.singular} {meta.namespace}/{meta.name}"
    for entry in meta.managed_fields:
        if entry.subresource == "status" and entry.manager in operators:
            yield StatusWrite(operator=operators[entry.manager], manager=entry.manager, job=job, time=entry.time)
