"""The informer against a server that cuts, expires, refuses and goes back in time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import pytest

from traincrew import errors
from traincrew.client import connection, informer, remote, store
from traincrew.model.resources import PODS

if TYPE_CHECKING:
    from tests.client.informer.conftest import Thing, Things, Vocabulary


class Kept:
    """An informer at work, and everything that it told."""

    def __init__(
        self,
        reader: remote.RemoteClient,
        words: Vocabulary,
        namespace: str | None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._also = on_change
        self.told: list[str] = []
        self.undecodable: list[bytes] = []
        self.store: store.Store[Thing] = store.Store(words.decode, self._on_change)
        self.informer = informer.Informer(
            reader,
            informer.Scope(PODS, namespace),
            self.store,
            on_undecodable=lambda raw, _: self.undecodable.append(raw),
        )
        self._moved = asyncio.Event()

    def _on_change(self, old: Thing | None, new: Thing | None) -> None:
        named = new or old
        assert named is not None
        sign = "+" if old is None else "-" if new is None else "~"
        self.told.append(f"{sign}{named.metadata.name}{new.phase if new else ''}")
        self._moved.set()
        self._also()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Kept]:
        running = asyncio.create_task(self.informer.run())
        try:
            async with asyncio.timeout(20):
                await self.informer.synced.wait()
            yield self
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                self._moved.clear()
                with contextlib.suppress(TimeoutError):  # some conditions are on more than changes
                    await asyncio.wait_for(self._moved.wait(), 0.02)

    def phases(self) -> dict[str, str]:
        return {each.metadata.name: each.phase for each in self.store}


def keeping(
    reader: remote.RemoteClient, words: Vocabulary, namespace: str | None = None
) -> contextlib.AbstractAsyncContextManager[Kept]:
    return Kept(reader, words, namespace).running()


async def test_all_pages_are_in_the_copy_once_it_is_synced(
    things: Things, reader: remote.RemoteClient, words: Vocabulary
) -> None:
    for number in range(8):
        await things.put(f"p-{number}")
    async with keeping(reader, words) as kept:
        assert len(kept.store) == 8
        assert sorted(kept.told) == [f"+p-{number}" for number in range(8)]


async def test_changes_follow_by_watch(things: Things, reader: remote.RemoteClient, words: Vocabulary) -> None:
    await things.put("a", "x")
    async with keeping(reader, words) as kept:
        await things.put("a", "y")
        await things.put("b")
        await things.remove("a")
        await kept.until(lambda: kept.phases() == {"b": ""})
    assert kept.told == ["+ax", "~ay", "+b", "-a"]
    assert things.lists == 1


async def test_a_cut_watch_goes_on_where_it_was(things: Things, reader: remote.RemoteClient, words: Vocabulary) -> None:
    async with keeping(reader, words) as kept:
        for number in range(3):
            await things.standing(number + 1)
            await things.put("a", str(number))
            await kept.until(lambda number=number: kept.phases() == {"a": str(number)})  # type: ignore[misc]
            await things.cut()
        await things.remove("a")
        await kept.until(lambda: not kept.phases())
    assert kept.told == ["+a0", "~a1", "~a2", "-a"]
    assert things.watched_from == [100, 101, 102, 103]


async def test_after_an_expiry_a_new_list_tells_what_came_and_went(
    things: Things, reader: remote.RemoteClient, words: Vocabulary
) -> None:
    for name in ("stays", "changes", "goes"):
        await things.put(name)
    async with keeping(reader, words) as kept:
        await things.standing(1)
        kept.told.clear()
        things.codes += [503] * 3  # nothing is seen until it is all over
        await things.cut()
        await things.put("changes", "x")
        await things.put("comes")
        await things.remove("goes")
        things.forget_the_past()
        await kept.until(lambda: kept.phases() == {"stays": "", "changes": "x", "comes": ""})
    assert sorted(kept.told) == ["+comes", "-goes", "~changesx"]


async def test_a_list_does_not_undo_what_we_wrote_after_it_was_begun(
    things: Things, reader: remote.RemoteClient, words: Vocabulary
) -> None:
    for name in ("a", "b", "c", "d", "e"):
        await things.put(name)
    kept = Kept(reader, words, None)

    async def we_write() -> None:
        things.between_pages = None
        kept.store.apply_response(await things.put("e", "ours"))
        kept.store.apply_response(await things.put("made"))
        kept.store.remove(words.decode(await things.remove("d")))

    things.between_pages = we_write
    async with kept.running():
        assert kept.phases() == {"a": "", "b": "", "c": "", "e": "ours", "made": ""}
        await things.put("theirs")
        await kept.until(lambda: "theirs" in kept.phases())
    assert kept.told == ["+a", "+b", "+c", "~eours", "+theirs"], "e is told, as nobody knew of it before our write"


async def test_our_own_writes_are_not_told_when_the_watch_shows_them(
    things: Things, reader: remote.RemoteClient, words: Vocabulary
) -> None:
    async with keeping(reader, words) as kept:
        await things.standing(1)
        kept.store.apply_response(await things.put("ours"))
        await things.put("theirs")
        await kept.until(lambda: "theirs" in kept.phases())
    assert kept.told == ["+theirs"]


async def test_an_object_that_cannot_be_decoded_is_reported_and_does_not_stop_the_rest(
    things: Things, reader: remote.RemoteClient, words: Vocabulary
) -> None:
    await things.put("good")
    await things.put("bad", {"not": "text"})
    await things.put("turns")
    async with keeping(reader, words) as kept:
        assert kept.phases() == {"good": "", "turns": ""}
        await things.put("turns", 5)
        await things.put("after")
        await kept.until(lambda: "after" in kept.phases())
        assert len(kept.undecodable) == 2
        things.forget_the_past()
        await things.cut()
        await things.put("last")
        await kept.until(lambda: "last" in kept.phases() and len(things.watched_from) == 2)
        assert "turns" in kept.phases(), "undecodable is not deleted"
        await things.remove("turns")
        await kept.until(lambda: "turns" not in kept.phases())


async def test_a_server_that_went_back_in_time_is_believed(
    things: Things, reader: remote.RemoteClient, words: Vocabulary
) -> None:
    for name in ("a", "b"):
        await things.put(name, "new")
    async with keeping(reader, words) as kept:
        await things.standing(1)
        kept.told.clear()
        del things.held["b"]
        things.held["a"]["phase"] = "restored"
        things.restore(50)
        await things.cut()
        await kept.until(lambda: kept.phases() == {"a": "restored"})
        await things.put("a", "later")
        await kept.until(lambda: kept.phases() == {"a": "later"})
    assert sorted(kept.told) == ["-b", "~alater", "~arestored"]


async def test_refusals_are_waited_out_and_shown_meanwhile(
    things: Things, reader: remote.RemoteClient, words: Vocabulary
) -> None:
    async with keeping(reader, words) as kept:
        await things.standing(1)
        assert kept.informer.silent_for() < 20
        things.codes += [403] * 2
        await things.cut()
        await kept.until(lambda: isinstance(kept.informer.failure, errors.Forbidden))
        await things.put("a")
        await kept.until(lambda: kept.phases() == {"a": ""})
        assert kept.informer.failure is None


async def test_a_server_that_ends_every_watch_at_once_is_not_besieged(
    things: Things, reader: remote.RemoteClient, words: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[float] = []
    pause = asyncio.sleep

    async def noted(delay: float) -> None:
        if delay:
            delays.append(delay)
        await pause(0)

    monkeypatch.setattr("traincrew.client.informer.asyncio.sleep", noted)
    async with keeping(reader, words) as kept:
        things.codes += [200] * 12
        await things.cut()
        await things.put("a")
        await kept.until(lambda: len(delays) >= 12 and "a" in kept.phases())
    assert len(delays) <= 14
    assert max(delays) > 2


async def test_only_the_informers_namespace_is_swept(things: Things, reader: remote.RemoteClient, words: Vocabulary) -> None:
    async with keeping(reader, words, "ns") as kept:
        foreign = b'{"metadata":{"name":"x","namespace":"other","uid":"u","resourceVersion":"1"}}'
        kept.store.apply_response(foreign)
        await things.standing(1)
        await things.put("a")
        things.forget_the_past()
        await things.cut()
        await things.put("b")
        await kept.until(lambda: len(things.watched_from) == 2 and "b" in kept.phases())
    assert sorted(kept.phases()) == ["a", "b", "x"]


async def test_a_long_list_leaves_others_their_turn(things: Things, address: connection.Connection, words: Vocabulary) -> None:
    for number in range(450):
        await things.put(f"p-{number}")
    turns, seen = 0, []

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with remote.RemoteClient(address) as reader:  # one page holds them all
        kept = Kept(reader, words, None, on_change=lambda: seen.append(turns))
        busy = asyncio.create_task(others())
        async with kept.running():
            busy.cancel()
    assert len(seen) == 450
    assert len(set(seen)) >= 450 // informer.YIELD_EVERY
