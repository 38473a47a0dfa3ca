"""Laws of the local copy, over random interleavings of our writes, others' writes, late watches and lists."""

from __future__ import annotations

import dataclasses
from typing import Any

import hypothesis
import hypothesis.strategies as st
import msgspec

from traincrew.client import listing, store
from traincrew.model import meta


class Thing(meta.Struct):
    metadata: meta.Meta = meta.Meta()


@dataclasses.dataclass
class Event:
    thing: Thing
    deleted: bool
    ours: bool
    learnt: bool = False


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
        self.told: list[str] = []
        self.floor: dict[str, int] = {}
        """The version of our last learnt write, by uid."""
        self.list: tuple[listing.Listing[Thing], list[Thing], int] | None = None
        self.copy: store.Store[Thing] = store.Store(msgspec.json.Decoder(Thing).decode, self._on_change)

    def _on_change(self, old: Thing | None, new: Thing | None) -> None:
        changed = new or old
        assert changed is not None
        self.told.append(changed.metadata.uid)

    def write(self, name: str, ours: bool, delete: bool) -> None:
        self.version += 1
        known = self.truth.get(name)
        if delete:
            if known is None:
                return
            del self.truth[name]
        uid = known.metadata.uid if known else f"{name}-{self.version}"
        thing = Thing(metadata=meta.Meta(name=name, namespace="ns", uid=uid, resource_version=str(self.version)))
        if not delete:
            self.truth[name] = thing
        event = Event(thing, delete, ours)
        self.log.append(event)
        if ours:
            self.answers.append(event)

    def answer(self) -> None:
        """The oldest answer on its way arrives."""
        if not self.answers:
            return
        event = self.answers.pop(0)
        event.learnt = True
        if event.deleted:
            self.copy.forget(event.thing)
            return
        self.copy.learn(event.thing)
        self.floor[event.thing.metadata.uid] = int(event.thing.metadata.resource_version)

    def show(self) -> None:
        """The watch tells its next event; there is none while a list is taken in."""
        if self.shown == len(self.log) or self.list is not None:
            return
        event = self.log[self.shown]
        self.shown += 1
        uid = event.thing.metadata.uid
        held = self.copy.get("ns", event.thing.metadata.name)
        alive = held is not None and held.metadata.uid == uid
        self.told.clear()
        if event.deleted:
            described = event.thing.metadata
            self.copy.saw_deleted(("ns", described.name), uid, described.resource_version)
        else:
            self.copy.saw(event.thing)
        self.copy.reached(None, event.thing.metadata.resource_version)
        if event.learnt:
            assert uid not in self.told, "the echo of a write of ours was told as news"
        elif not event.ours and alive:
            assert uid in self.told, "somebody else's change was told to nobody"

    def relist(self) -> None:
        """The watch is lost, and a list begins; or the one that was begun ends, and the watch goes on from there."""
        if self.list is None:
            self.list = (listing.Listing(self.copy), list(self.truth.values()), self.version)
            return
        taking, items, version = self.list
        self.list = None
        for item in items:
            taking.saw(item)
        taking.end(str(version))
        before = [each for each in self.log if int(each.thing.metadata.resource_version) <= version]
        self.shown = max(self.shown, len(before))

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
        st.tuples(st.just("answer")),
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
