"""Random sequences of calls, compared with a model: a dictionary and a list."""

from __future__ import annotations

import asyncio
import dataclasses
import pathlib
import tempfile
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.embedded.apiserver.storage.stored_objects import body, describe, pod, text

from traincrew.embedded.apiserver.storage.errors import RevisionCompacted, RevisionConflict
from traincrew.embedded.apiserver.storage.records import Key, Record, StorageLimits
from traincrew.embedded.apiserver.storage.store import Store

State = dict[Key, tuple[int, str]]

KEYS = [pod("a", "x"), pod("b", "x"), pod("a", "y"), Key("nodes", "", "a")]


@dataclasses.dataclass(frozen=True)
class Put:
    key: Key
    expect: str


@dataclasses.dataclass(frozen=True)
class Delete:
    key: Key
    expect: str


Write = Put | Delete
EXPECTATIONS = st.sampled_from(["any", "none", "current", "old"])
WRITES = st.one_of(*(st.builds(kind, st.sampled_from(KEYS), EXPECTATIONS) for kind in (Put, Delete)))
STEPS = st.lists(st.one_of(st.lists(WRITES, min_size=1, max_size=8), st.just("restart")), max_size=25)
LIMITS = st.builds(
    StorageLimits, history_changes=st.integers(1, 60), recent_changes=st.integers(1, 30), group_changes=st.integers(1, 4)
)


class Model:
    def __init__(self) -> None:
        self.state: State = {}
        self.revision = 1
        self.past: dict[int, State] = {1: {}}
        self.events: list[tuple[int, str, Key, str]] = []

    def expectation(self, write: Write) -> int | None:
        current = self.state.get(write.key, (0, ""))[0]
        return {"any": None, "none": 0, "current": current, "old": max(current - 1, 0)}[write.expect]

    def accepts(self, write: Write, expect: int | None, content: str) -> bool:
        current = self.state.get(write.key)
        if expect not in (None, current[0] if current else 0) or (isinstance(write, Delete) and not current):
            return False
        self.revision += 1
        if isinstance(write, Put):
            self.state[write.key] = (self.revision, content)
            self.events.append((self.revision, "MODIFIED" if current else "ADDED", write.key, content))
        else:
            assert current
            del self.state[write.key]
            self.events.append((self.revision, "DELETED", write.key, current[1]))
        self.past[self.revision] = dict(self.state)
        return True


def listed(records: Sequence[Record]) -> State:
    return {record.key: (record.revision, text(record)) for record in records}


def of(state: State, resource: str, namespace: str = "") -> State:
    return {key: value for key, value in state.items() if key.resource == resource and namespace in ("", key.namespace)}


async def carry_out(store: Store, model: Model, writes: list[Write]) -> None:
    """Sends all writes concurrently. The model applies them in the order in which they are accepted."""
    calls, expected = [], []
    for number, write in enumerate(writes):
        expect, content = model.expectation(write), f"{model.revision}-{number}"
        expected.append(model.accepts(write, expect, content))
        put = isinstance(write, Put)
        calls.append(store.put(write.key, body(write.key, content), expect) if put else store.delete(write.key, expect))
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [not isinstance(outcome, RevisionConflict) for outcome in outcomes] == expected
    assert all(isinstance(outcome, Record | RevisionConflict) for outcome in outcomes)


async def check_history(store: Store, model: Model) -> None:
    assert store.compacted <= store.revision
    for revision, past in model.past.items():
        try:
            assert listed(store.list_at("pods", "x", revision)) == of(past, "pods", "x")
            watch = store.watch("pods", "", revision)
        except RevisionCompacted:
            assert revision < store.compacted
            continue
        assert revision >= store.compacted
        expected = [event for event in model.events if event[0] > revision and event[2].resource == "pods"]
        changes = [await anext(watch) for _ in expected]
        assert [(change.revision, change.type, change.record.key, text(change.record)) for change in changes] == expected
        before = [model.past[change.revision - 1].get(change.record.key) for change in changes]
        assert [(change.before.revision, text(change.before)) if change.before else None for change in changes] == before


async def run(path: pathlib.Path, steps: list[list[Write] | str], limits: StorageLimits) -> None:
    store, model = Store.open(path, describe, limits), Model()
    try:
        for step in steps:
            if isinstance(step, list):
                await carry_out(store, model, step)
            else:
                await store.close()
                store = Store.open(path, describe, limits)
            assert store.revision == model.revision
            for resource in ("pods", "nodes"):
                assert listed(store.list(resource)) == of(model.state, resource)
                assert store.count(resource) == len(of(model.state, resource))
            assert all(store.head(key) is store.get(key) for key in KEYS)
        await check_history(store, model)
    finally:
        await store.close()


@settings(max_examples=60, deadline=None)
@given(STEPS, LIMITS)
def test_the_store_behaves_like_a_dictionary_and_a_list(steps: list[list[Write] | str], limits: StorageLimits) -> None:
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(run(pathlib.Path(directory) / "state.db", steps, limits))
