"""Writes a pod's status: the latest wanted one, as often as it takes, and nothing that the API has already."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import port
from traincrew.model.resources import PODS

log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds before another attempt after one that failed."""
LULL = 0.05
"""Seconds that a passing status is kept back. A pod that starts has several, and has started before they are all written."""
Status = dict[str, Any]


class StatusManager:
    def __init__(
        self,
        client: port.Client,
        current: Callable[[], dict[str, Any]],
        written: Callable[[dict[str, Any]], None],
        overtaken: Callable[[dict[str, Any]], None],
    ) -> None:
        """overtaken: called with a pod that somebody else has changed; what is wanted of it then has to be told anew."""
        self._client, self._current, self._written, self._overtaken = client, current, written, overtaken
        self._wanted: Status | None = None
        self._news = asyncio.Event()
        self._firm = asyncio.Event()
        self._settled = asyncio.Event()

    def want(self, status: Status, *, passing: bool = False) -> None:
        """passing: others will follow soon, and nobody misses it then."""
        self._wanted = status
        if passing:
            self._firm.clear()
        else:
            self._firm.set()
        if difference(self._current().get("status") or {}, status):
            self._settled.clear()
            self._news.set()
        else:
            self._settled.set()

    def abandon(self) -> None:
        """There is no such pod any more: nothing is left to be written."""
        self._settled.set()

    @property
    def is_settled(self) -> bool:
        return self._settled.is_set()

    async def settled(self) -> None:
        """Returns when the API has what was last wanted, or has no such pod any more."""
        await self._settled.wait()

    async def run(self) -> None:
        while True:
            await self._news.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LULL):
                    await self._firm.wait()
            self._news.clear()
            try:
                await self._write()
            except errors.NotFound:
                self.abandon()
            except errors.ApiError as error:
                log.warning("pod status not written", extra={"pod": self._current()["metadata"]["name"], "error": str(error)})
                await asyncio.sleep(PAUSE)
                self._news.set()

    async def _write(self) -> None:
        pod, wanted = self._current(), self._wanted
        change = difference(pod.get("status") or {}, wanted or {})
        if not change:
            self._settled.set()
            return
        meta = pod["metadata"]
        # The version keeps us from undoing a condition that somebody else set meanwhile.
        body = {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}, "status": change}
        try:
            answer = await self._client.patch(
                PODS, meta["namespace"], meta["name"], msgspec.json.encode(body), subresource="status"
            )
        except errors.Conflict:
            await self._read_anew(meta["namespace"], meta["name"])
            return
        self._written(msgspec.json.decode(answer))
        if self._wanted is wanted:
            self._settled.set()

    async def _read_anew(self, namespace: str, name: str) -> None:
        """Somebody else wrote it. The watch may have told of that long ago, before the answer to an earlier write of ours."""
        self._overtaken(msgspec.json.decode(await self._client.get(PODS, namespace, name)))


def difference(held: Status, wanted: Status) -> Status:
    """A merge patch from one to the other; empty if they are the same."""
    changed: Status = {key: value for key, value in wanted.items() if held.get(key) != value}
    return changed | {key: None for key in held if key not in wanted}
