"""The topic `jobs`: a snapshot of the list, then what changes."""

from __future__ import annotations

import asyncio

from traincrew.client import clock
from traincrew.console.contract.jobs import JobListPatch
from traincrew.console.contract.stream import JobsPatch, JobsSnapshot, Subscribe
from traincrew.console.job_cache import Changes, JobCache
from traincrew.console.stream.topics import Send
from traincrew.console.view import job_filters, job_summaries
from traincrew.console.view.job_filters import JobFilter

PAUSE_SECONDS = 0.2
"""Between two patches."""


async def run(cache: JobCache, subscribe: Subscribe, wanted: JobFilter, send: Send) -> None:
    with cache.listening() as changed:
        await cache.synced.wait()
        revision = _parse_cursor(cache, subscribe.cursor)
        while True:
            revision = await _send_changes(cache, subscribe.topic, wanted, revision, send)
            await asyncio.sleep(PAUSE_SECONDS)
            while cache.revision == revision:
                changed.clear()
                await changed.wait()


async def _send_changes(cache: JobCache, topic: str, wanted: JobFilter, seen: int | None, send: Send) -> int:
    """Send what has changed after a revision, or all jobs if that is not known (any more). Return the revision that was sent."""
    changes, revision = cache.since(seen) if seen is not None else None, cache.revision
    if changes is None:
        listed = job_filters.select(wanted, cache, cache.unreadable, clock.now())
        await send(JobsSnapshot(topic=topic, cursor=_cursor(cache, revision), data=listed))
    else:
        await send(JobsPatch(topic=topic, cursor=_cursor(cache, revision), data=_patch(cache, wanted, changes)))
    return revision


def _patch(cache: JobCache, wanted: JobFilter, changes: Changes) -> JobListPatch:
    now = clock.now()
    candidates = [job for job in cache if wanted.matches_but_status(job, now)]
    matching = [job for job in changes.changed if wanted.matches(job, now)]
    others = [job_summaries.key(job) for job in changes.changed if not wanted.matches(job, now)]
    return JobListPatch(
        changed=matching,
        removed=[*changes.removed, *others],
        counts=job_filters.counts(candidates),
        total=sum(wanted.has_status(job) for job in candidates),
        unreadable=cache.unreadable,
    )


def _cursor(cache: JobCache, revision: int) -> str:
    return f"{cache.instance}.{revision}"


def _parse_cursor(cache: JobCache, cursor: str) -> int | None:
    instance, _, revision = cursor.partition(".")
    if instance != cache.instance or not revision.isdecimal() or int(revision) > cache.revision:
        return None
    return int(revision)
