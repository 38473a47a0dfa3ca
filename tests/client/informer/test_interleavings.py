"""Laws of the local copy, over random interleavings of our writes, others' writes, late watches and lists."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

import hypothesis
import hypothesis.strategies as st
import msgspec

from traincrew.client import informer, store
from traincrew.model import meta


class Thing(meta.Struct):
    metadata: meta.Meta = meta.Meta()


@dataclasses.dataclass
class Event:
    thing: Thing
    deleted: bool
    ours: bool
    write: contextlib.AbstractContextManager[None] | None = None

    @property
    def uid(self) -> str:
        return self.thing.metadata.uid

    @property
    def version(self) -> int:
        return int(self.thing.metadata.resource_version)


class World:
    """The server's truth, and the copy that we keep of it."""

    def __init__(self) -> None:
        self.version = 0
        self.truth: dict[str, Thing] = {}
        self.log: list[Event] = []
        self.shown = 0
        """How many events of the log the watch has told."""
        self.answers: list[Event] = []
        """Answers to our writes that are still on their way."""
        self.told: set[str] = set()
        self.owed: dict[str, str] = {}
        """uid → name of what somebody must be told of as soon as no write of ours to that name is under way."""
        self.floor: dict[str, int] = {}
        """The version of our last learnt write, by uid."""
        self.listed: set[str] = set()
        """Versions that a list has shown; they are told, be they ours or not."""
        self.list: tuple[informer.ListReplacement[Thing], list[Thing], int] | None = None
        self.copy: store.Store[Thing] = store.Store(msgspec.json.Decoder(Thing).decode, self._on_change)

    def _on_change(self, old: Thing | None, new: Thing | None) -> None:
        changed = new or old
        assert changed is not None
        self.told.add(changed.metadata.uid)
        self.owed.pop(changed.metadata.uid, None)
        if new is not old and (new is None or new.metadata.resource_version not in self.listed):
            version = int(new.metadata.resource_version) if new else None
            ours = [each for each in self.log if each.ours and each.uid == changed.metadata.uid]
            echoed = [each for each in ours if (each.version == version if new else each.deleted)]
            assert not echoed, "a write of ours was told as news"

    def write(self, name: str, ours: bool, delete: bool) -> None:
        self.version += 1
        known = self.truth.get(name)
        if delete and known is None:
            return
        uid = known.metadata.uid if known else f"{name}-{self.version}"
        thing = Thing(metadata=meta.Meta(name=name, namespace="ns", uid=uid, resource_version=str(self.version)))
        if delete:
            del self.truth[name]
        else:
            self.truth[name] = thing
        event = Event(thing, delete, ours)
        self.log.append(event)
        if ours:
            event.write = self.copy.pending_write("ns", name)
            event.write.__enter__()
            self.answers.append(event)

    def answer(self, which: int = 0) -> None:
        """An answer that was on its way arrives."""
        if not self.answers:
            return
        event = self.answers.pop(which % len(self.answers))
        if event.deleted:
            self.copy.remove(event.thing)
        else:
            self.copy.apply_response(event.thing)
            self.floor[event.uid] = max(event.version, self.floor.get(event.uid, 0))
        assert event.write is not None
        event.write.__exit__(None, None, None)
        self.collect()

    def show(self) -> None:
        """The watch tells its next event; there is none while a list is taken in."""
        if self.shown == len(self.log) or self.list is not None:
            return
        event = self.log[self.shown]
        self.shown += 1
        self.owe(event)
        if event.deleted:
            described = event.thing.metadata
            self.copy.observe_deletion(("ns", described.name), event.uid, described.resource_version)
        else:
            self.copy.observe(event.thing)
        self.copy.observe_version(None, event.thing.metadata.resource_version)
        self.collect()

    def owe(self, event: Event) -> None:
        """Whoever holds an object must be told of what somebody else did to it."""
        held = self.copy.get("ns", event.thing.metadata.name)
        if not event.ours and held is not None and held.metadata.uid == event.uid:
            self.owed[event.uid] = event.thing.metadata.name

    def collect(self) -> None:
        writing = {event.thing.metadata.name for event in self.answers}
        held = {each.metadata.uid for each in self.copy}
        unpaid = [uid for uid, name in self.owed.items() if name not in writing and uid in held]
        assert not unpaid, "somebody else's change was told to nobody"

    def relist(self) -> None:
        """The watch is lost, and a list begins; or the one that was begun ends, and the watch goes on from there."""
        if self.list is None:
            self.list = (informer.ListReplacement(self.copy), list(self.truth.values()), self.version)
            return
        taking, items, version = self.list
        missed = [each for each in self.log[self.shown :] if each.version <= version]
        for event in missed:
            self.owe(event)
        self.listed |= {item.metadata.resource_version for item in items}
        for item in items:
            taking.observe(item)
        taking.finish(str(version))
        self.shown += len(missed)
        self.collect()
        self.list = None

    def check(self) -> None:
        for held in self.copy:
            version = int(held.metadata.resource_version)
            assert version >= self.floor.get(held.metadata.uid, 0), "older than our own last write"

    def settle(self) -> None:
        if self.list is not None:
            self.relist()
        while self.answers:
            self.answer()
        while self.shown < len(self.log):
            self.show()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from("abc"), st.booleans(), st.booleans()),
        st.tuples(st.just("answer"), st.integers(0, 3)),
        st.tuples(st.just("show")),
        st.tuples(st.just("relist")),
    ),
    max_size=60,
)


@hypothesis.settings(max_examples=600, deadline=None)
@hypothesis.given(STEPS)
def test_the_copy_never_falls_behind_our_writes_and_ends_as_the_truth(steps: list[tuple[Any, ...]]) -> None:
    world = World()
    for step, *arguments in steps:
        getattr(world, step)(*arguments)
        world.check()
    world.settle()
    assert {each.metadata.name: each for each in world.copy} == world.truth
