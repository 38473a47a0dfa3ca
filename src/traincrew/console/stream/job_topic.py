"""The topic of one job: its details, then what changes."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib

import msgspec

from traincrew import errors
from traincrew.console.contract.job_detail import JobDetail, JobPatch
from traincrew.console.contract.stream import End, JobChanges, JobSnapshot, StreamError, Subscribe
from traincrew.console.job_reader import JobAddress
from traincrew.console.stream.topics import Send, Services
from traincrew.console.view import job_patches, problems

PAUSE_SECONDS = 0.3
"""Between two readings."""
PAUSE_SHARE = 4.0
"""A job with ten thousand pods takes long to read. The pause is longer by this factor: other tabs have their turn."""
EVENTS_SECONDS = 5.0
"""Events come without a change of the job or its pods."""
UNOBSERVED_SECONDS = 2.0
"""Between two readings of a job whose changes the user may not watch."""


class JobTopic:
    def __init__(self, services: Services, subscribe: Subscribe, job: JobAddress, send: Send) -> None:
        self._services, self._subscribe, self._job, self._send = services, subscribe, job, send
        self._sent: JobDetail | None = None
        self._is_away = False

    async def run(self) -> None:
        """Until the job is deleted. Its usage is sampled meanwhile, for who looks at it next."""
        async with self._services.usage.watching(self._job):
            with self._services.cache.listening() as changed:
                while await self._read_and_wait(changed):
                    pass

    async def _read_and_wait(self, changed: asyncio.Event) -> bool:
        """Read the job, then wait for its next change. False: the topic is over."""
        cache, key = self._services.cache, self._job.key
        seen, began = cache.touched[key], asyncio.get_running_loop().time()
        if not await self._read():
            return False
        await asyncio.sleep(max(PAUSE_SECONDS, PAUSE_SHARE * (asyncio.get_running_loop().time() - began)))
        limit = EVENTS_SECONDS if cache.covers(*key[:2]) else UNOBSERVED_SECONDS
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while cache.touched[key] == seen:
                    changed.clear()
                    await changed.wait()
        return True

    async def _read(self) -> bool:
        """Whether the topic goes on."""
        try:
            detail = await self._services.reader.detail(self._job)
        except errors.NotFound as error:
            return await self._end(error)
        except (errors.TemporaryError, errors.Unauthorized) as error:
            if not self._is_away:
                await self._error(error, retrying=True)
            self._is_away = True
            return True
        except errors.ApiError as error:
            await self._error(error, retrying=False)
            return False
        self._is_away = False
        await self._show(detail)
        return True

    async def _show(self, detail: JobDetail) -> None:
        topic, cursor = self._subscribe.topic, _cursor(detail)
        if self._sent is None and cursor == self._subscribe.cursor:
            await self._send(JobChanges(topic=topic, cursor=cursor, data=JobPatch()))
        elif self._sent is None or self._sent.summary.uid != detail.summary.uid:
            await self._send(JobSnapshot(topic=topic, cursor=cursor, data=detail))
        elif (patch := job_patches.diff(self._sent, detail)) is not None:
            await self._send(JobChanges(topic=topic, cursor=cursor, data=patch))
        self._sent = detail

    async def _end(self, error: errors.NotFound) -> bool:
        if self._sent is None and not self._subscribe.cursor:
            await self._error(error, retrying=False)
        else:
            await self._send(End(topic=self._subscribe.topic, reason="Deleted", message=f"{self._job.reference} was deleted"))
        return False

    async def _error(self, error: errors.ApiError, *, retrying: bool) -> None:
        found = problems.of(error, f"read {self._job.reference} in namespace {self._job.namespace}")
        await self._send(StreamError(topic=self._subscribe.topic, error=found, retrying=retrying))


def _cursor(detail: JobDetail) -> str:
    return hashlib.sha256(msgspec.json.encode(detail)).hexdigest()[:24]
