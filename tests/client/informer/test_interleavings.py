"""Properties of the store over random interleavings of our writes, writes by others, late watches and lists."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

import hypothesis
import hypothesis.strategies as st
import msgspec

from traincrew.client import informer, store
from traincrew.model import meta


class Widget(meta.Struct):
    metadata: meta.Meta = meta.Meta()


@dataclasses.dataclass
class Event:
    widget: Widget
    deleted: bool
    ours: bool
    write: contextlib.AbstractContextManager[None] | None = None

    @property
    def uid(self) -> str:
        return self.widget.metadata.uid

    @property
    def version(self) -> int:
        return int(self.widget.metadata.resource_version)


class Simulation:
    """The objects of the server, and the store."""

    def __init__(self) -> None:
        self.version = 0
        self.objects: dict[str, Widget] = {}
        self.log: list[Event] = []
        self.delivered = 0
        """Number of events of the log that the watch has delivered."""
        self.responses: list[Event] = []
        """Responses to our writes that are in flight."""
        self.reported: set[str] = set()
        self.expected: dict[str, str] = {}
        """UID → name of objects whose change must be reported once no write of ours to that name is in flight."""
        self.floor: dict[str, int] = {}
        """The version of our last applied write, by UID."""
        self.listed: set[str] = set()
        """Versions in a list. They are reported even if we wrote them."""
        self.list: tuple[informer.ListReplacement[Widget], list[Widget], int] | None = None
        self.store: store.InformerStore[Widget] = store.InformerStore(msgspec.json.Decoder(Widget).decode, self._on_change)

    def _on_change(self, old: Widget | None, new: Widget | None) -> None:
        changed = new or old
        assert changed is not None
        self.reported.add(changed.metadata.uid)
        self.expected.pop(changed.metadata.uid, None)
        if new is not old and (new is None or new.metadata.resource_version not in self.listed):
            version = int(new.metadata.resource_version) if new else None
            ours = [each for each in self.log if each.ours and each.uid == changed.metadata.uid]
            own = [each for each in ours if (each.version == version if new else each.deleted)]
            assert not own, "a write of ours was reported"

    def write(self, name: str, ours: bool, delete: bool) -> None:
        self.version += 1
        existing = self.objects.get(name)
        if delete and existing is None:
            return
        uid = existing.metadata.uid if existing else f"{name}-{self.version}"
        widget = Widget(metadata=meta.Meta(name=name, namespace="ns", uid=uid, resource_version=str(self.version)))
        if delete:
            del self.objects[name]
        else:
            self.objects[name] = widget
        event = Event(widget, delete, ours)
        self.log.append(event)
        if ours:
            event.write = self.store.pending_write("ns", name)
            event.write.__enter__()
            self.responses.append(event)

    def respond(self, which: int = 0) -> None:
        """Applies a response that was in flight."""
        if not self.responses:
            return
        event = self.responses.pop(which % len(self.responses))
        if event.deleted:
            self.store.remove(event.widget)
        else:
            self.store.apply_response(event.widget)
            self.floor[event.uid] = max(event.version, self.floor.get(event.uid, 0))
        assert event.write is not None
        event.write.__exit__(None, None, None)
        self.check_reports()

    def deliver(self) -> None:
        """The watch delivers its next event. During a list there is no watch."""
        if self.delivered == len(self.log) or self.list is not None:
            return
        event = self.log[self.delivered]
        self.delivered += 1
        self.expect(event)
        if event.deleted:
            metadata = event.widget.metadata
            self.store.observe_deletion(("ns", metadata.name), event.uid, metadata.resource_version)
        else:
            self.store.observe(event.widget)
        self.store.observe_version(None, event.widget.metadata.resource_version)
        self.check_reports()

    def expect(self, event: Event) -> None:
        """Changes of a stored object by others must be reported."""
        stored = self.store.get("ns", event.widget.metadata.name)
        if not event.ours and stored is not None and stored.metadata.uid == event.uid:
            self.expected[event.uid] = event.widget.metadata.name

    def check_reports(self) -> None:
        writing = {event.widget.metadata.name for event in self.responses}
        stored = {each.metadata.uid for each in self.store}
        missing = [uid for uid, name in self.expected.items() if name not in writing and uid in stored]
        assert not missing, "a change by another client was not reported"

    def relist(self) -> None:
        """Starts a list after the watch is lost, or finishes the list and resumes the watch."""
        if self.list is None:
            self.list = (informer.ListReplacement(self.store), list(self.objects.values()), self.version)
            return
        replacement, items, version = self.list
        missed = [each for each in self.log[self.delivered :] if each.version <= version]
        for event in missed:
            self.expect(event)
        self.listed |= {item.metadata.resource_version for item in items}
        for item in items:
            replacement.observe(item)
        replacement.finish(str(version))
        self.delivered += len(missed)
        self.check_reports()
        self.list = None

    def check(self) -> None:
        for stored in self.store:
            version = int(stored.metadata.resource_version)
            assert version >= self.floor.get(stored.metadata.uid, 0), "older than our last write"

    def settle(self) -> None:
        if self.list is not None:
            self.relist()
        while self.responses:
            self.respond()
        while self.delivered < len(self.log):
            self.deliver()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from("abc"), st.booleans(), st.booleans()),
        st.tuples(st.just("respond"), st.integers(0, 3)),
        st.tuples(st.just("deliver")),
        st.tuples(st.just("relist")),
    ),
    max_size=60,
)


@hypothesis.settings(max_examples=600, deadline=None)
@hypothesis.given(STEPS)
def test_the_store_is_never_older_than_our_writes_and_converges(steps: list[tuple[Any, ...]]) -> None:
    simulation = Simulation()
    for step, *arguments in steps:
        getattr(simulation, step)(*arguments)
        simulation.check()
    simulation.settle()
    assert {each.metadata.name: each for each in simulation.store} == simulation.objects
