"""The store: which versions it accepts, and which changes it reports."""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from traincrew.client import store, tombstones

if TYPE_CHECKING:
    from tests.client.informer.conftest import Widget, WidgetFactory


class RecordingStore:
    """A store that records the changes that it reports."""

    def __init__(self, factory: WidgetFactory) -> None:
        self.now = 0.0
        self.changes: list[tuple[Widget | None, Widget | None]] = []
        self.store: store.InformerStore[Widget] = store.InformerStore(
            factory.decode, on_change=lambda old, new: self.changes.append((old, new)), clock=lambda: self.now
        )

    def observe_deletion(self, thing: Widget, version: int | str) -> None:
        identity = thing.metadata
        self.store.observe_deletion((identity.namespace, identity.name), identity.uid, str(version))


@pytest.fixture
def recording(factory: WidgetFactory) -> RecordingStore:
    return RecordingStore(factory)


def test_changes_of_the_watch_are_stored_and_reported(recording: RecordingStore, factory: WidgetFactory) -> None:
    first, second = factory.build("a", 1), factory.build("a", 2)
    recording.store.observe(first)
    recording.store.observe(second)
    recording.observe_deletion(second, 3)
    assert recording.changes == [(None, first), (first, second), (second, None)]
    assert recording.store.get("ns", "a") is None


def test_our_own_writes_are_stored_at_once_and_not_reported(recording: RecordingStore, factory: WidgetFactory) -> None:
    created, patched = factory.build("a", 1), factory.build("a", 2)
    recording.store.apply_response(created)
    recording.store.apply_response(patched)
    assert recording.store.get("ns", "a") is patched
    recording.store.observe(created)
    recording.store.observe(patched)
    assert recording.store.get("ns", "a") is patched
    assert recording.changes == []


def test_a_response_may_be_applied_as_bytes(recording: RecordingStore) -> None:
    raw = b'{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"},"phase":"x"}'
    assert recording.store.apply_response(raw).phase == "x"
    assert len(recording.store) == 1


def test_changes_after_our_write_are_reported(recording: RecordingStore, factory: WidgetFactory) -> None:
    ours, theirs = factory.build("a", 1), factory.build("a", 2)
    recording.store.apply_response(ours)
    recording.store.observe(ours)
    recording.store.observe(theirs)
    assert recording.changes == [(ours, theirs)]


def test_a_response_older_than_the_stored_object_is_ignored(recording: RecordingStore, factory: WidgetFactory) -> None:
    newer = factory.build("a", 5)
    recording.store.observe(newer)
    assert recording.store.apply_response(factory.build("a", 4)) is newer
    assert recording.store.get("ns", "a") is newer


def test_a_write_that_the_watch_delivers_before_its_response_is_not_reported(
    recording: RecordingStore, factory: WidgetFactory
) -> None:
    created, patched = factory.build("a", 1), factory.build("a", 2)
    for response in (created, patched):
        with recording.store.pending_write("ns", "a"):
            recording.store.observe(response)
            assert recording.store.get("ns", "a") is response
            recording.store.apply_response(response)
    with recording.store.pending_write("ns", "a"):
        recording.observe_deletion(patched, 3)
        recording.store.remove(patched)
    assert recording.changes == []


def test_changes_by_others_during_our_write_are_reported_after_it(recording: RecordingStore, factory: WidgetFactory) -> None:
    ours, theirs = factory.build("a", 1), factory.build("a", 2)
    with recording.store.pending_write("ns", "a"):
        recording.store.observe(ours)
        recording.store.observe(theirs)
        recording.store.apply_response(ours)
        assert recording.changes == []
    assert recording.changes == [(ours, theirs)]
    recording.changes.clear()
    with recording.store.pending_write("ns", "a"):
        recording.observe_deletion(theirs, 3)
    assert recording.changes == [(theirs, None)]


def test_changes_during_a_failed_write_are_reported(recording: RecordingStore, factory: WidgetFactory) -> None:
    theirs = factory.build("a", 1)
    with contextlib.suppress(TimeoutError), recording.store.pending_write("ns", "a"):
        recording.store.observe(theirs)
        raise TimeoutError
    assert recording.changes == [(None, theirs)]


def test_changes_during_concurrent_writes_are_reported_after_the_last(recording: RecordingStore, factory: WidgetFactory) -> None:
    first, second, theirs = (factory.build("a", version) for version in (1, 2, 3))
    with recording.store.pending_write("ns", "a"):
        with recording.store.pending_write("ns", "a"):
            recording.store.observe(first)
            recording.store.apply_response(first)
        recording.store.observe(second)
        recording.store.observe(theirs)
        recording.store.apply_response(second)
        assert recording.changes == []
    assert recording.changes == [(second, theirs)]


def test_changes_of_other_objects_are_reported_during_a_write(recording: RecordingStore, factory: WidgetFactory) -> None:
    other = factory.build("b", 1)
    with recording.store.pending_write("ns", "a"):
        recording.store.observe(other)
    assert recording.changes == [(None, other)]


def test_a_change_by_another_client_in_our_response_is_reported(recording: RecordingStore, factory: WidgetFactory) -> None:
    """The watch does not report our own write, which contains the change."""
    recording.store.observe(factory.build("a", 1))
    response = factory.build("a", 4)
    recording.store.apply_response(factory.build("a", 2))
    recording.store.apply_response(response)
    recording.changes.clear()
    for version in (2, 3, 4):
        recording.store.observe(factory.build("a", version))
    assert recording.changes == [(response, response)]


@pytest.mark.parametrize("response_first", [True, False])
def test_our_write_in_a_list_is_reported(recording: RecordingStore, factory: WidgetFactory, response_first: bool) -> None:
    """No event is delivered for version 2, which another client wrote."""
    recording.store.observe(factory.build("a", 1))
    recording.changes.clear()
    ours = factory.build("a", 3)
    with recording.store.pending_write("ns", "a"):
        if response_first:
            recording.store.apply_response(ours)
        recording.store.observe(ours, listed=True)
        recording.store.apply_response(ours)
    assert [new for _, new in recording.changes] == [ours]


def test_our_deletion_is_applied_at_once_and_not_reverted_by_late_changes(
    recording: RecordingStore, factory: WidgetFactory
) -> None:
    known = factory.build("a", 1)
    recording.store.apply_response(known)
    recording.store.remove(known)
    recording.store.observe(factory.build("a", 2))
    recording.store.apply_response(factory.build("a", 2))
    recording.observe_deletion(known, 3)
    assert len(recording.store) == 0
    assert recording.changes == []


def test_a_response_after_the_deletion_is_ignored(recording: RecordingStore, factory: WidgetFactory) -> None:
    recording.store.observe(factory.build("a", 1))
    recording.observe_deletion(factory.build("a", 1), 5)
    recording.store.apply_response(factory.build("a", 4))
    assert len(recording.store) == 0


def test_an_object_that_lost_its_label_may_be_added_again(recording: RecordingStore, factory: WidgetFactory) -> None:
    recording.store.observe(factory.build("a", 1))
    recording.observe_deletion(factory.build("a", 1), 2)
    back = factory.build("a", 3)
    recording.store.observe(back)
    assert recording.store.get("ns", "a") is back


def test_a_new_object_of_the_same_name_replaces_a_deleted_one(recording: RecordingStore, factory: WidgetFactory) -> None:
    old, new = factory.build("a", 1, uid="u-1", owner="o"), factory.build("a", 9, uid="u-2", owner="o")
    recording.store.observe(old)
    recording.store.observe(new)
    recording.observe_deletion(old, 8)
    recording.store.observe(factory.build("a", 7, uid="u-1", owner="o"))
    assert recording.store.get("ns", "a") is new
    assert recording.store.owned_by("o") == (new,)
    assert recording.changes == [(None, old), (old, None), (None, new)]


def test_a_late_deletion_does_not_remove_a_new_object_of_the_same_name(recording: RecordingStore, factory: WidgetFactory) -> None:
    old, new = factory.build("a", 1, uid="u-1"), factory.build("a", 9, uid="u-2")
    recording.store.observe(old)
    recording.store.apply_response(new)
    recording.observe_deletion(old, 8)
    assert recording.store.get("ns", "a") is new


def test_a_response_about_an_earlier_object_of_the_same_name_is_ignored(
    recording: RecordingStore, factory: WidgetFactory
) -> None:
    recording.store.observe(factory.build("a", 1, uid="u-1"))
    recording.store.observe(factory.build("a", 9, uid="u-2"))
    recording.observe_deletion(factory.build("a", 9, uid="u-2"), 10)
    recording.store.apply_response(factory.build("a", 5, uid="u-1"))
    assert len(recording.store) == 0


def test_a_response_about_an_object_deleted_before_a_list_is_ignored(recording: RecordingStore, factory: WidgetFactory) -> None:
    recording.store.observe_version(None, "7")
    recording.store.apply_response(factory.build("a", 7))
    assert len(recording.store) == 0
    recording.store.apply_response(factory.build("a", 8))
    assert len(recording.store) == 1


def test_objects_are_found_by_their_controller(recording: RecordingStore, factory: WidgetFactory) -> None:
    a, b, other = factory.build("a", 1, owner="o"), factory.build("b", 2, owner="o"), factory.build("c", 3, owner="p")
    for each in (a, b, other):
        recording.store.observe(each)
    assert recording.store.owned_by("o") == (a, b)
    orphan = factory.build("b", 4)
    recording.store.observe(orphan)
    recording.observe_deletion(a, 5)
    assert recording.store.owned_by("o") == ()
    assert sorted(each.metadata.name for each in recording.store) == ["b", "c"]


def test_if_versions_are_not_numbers_the_watch_has_precedence(recording: RecordingStore, factory: WidgetFactory) -> None:
    written, watched = factory.build("a", "zz"), factory.build("a", "aa")
    recording.store.apply_response(written)
    recording.store.observe(watched)
    assert recording.changes == [(written, watched)]
    recording.observe_deletion(watched, "bb")
    recording.store.observe(watched)
    assert recording.store.get("ns", "a") is watched


def deleted(grace: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "deletionTimestamp": "2024-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": grace,
        "name": "a",
        "namespace": "ns",
        "uid": "uid-a",
        "resourceVersion": "2",
        **more,
    }


@pytest.mark.parametrize(
    ("response", "gone"),
    [
        pytest.param({"kind": "Status", "status": "Success"}, True, id="a Status"),
        pytest.param({"kind": "Pod", "metadata": deleted(grace=30)}, False, id="a pod that may still run"),
        pytest.param({"kind": "Pod", "metadata": deleted(grace=0)}, True, id="a pod that never ran"),
        pytest.param({"kind": "Pod", "metadata": deleted(finalizers=["x"])}, False, id="held by a finalizer"),
        pytest.param({"kind": "Service", "metadata": {"name": "a", "uid": "uid-a"}}, True, id="a service"),
    ],
)
def test_the_response_to_a_delete_shows_whether_the_object_is_deleted(
    recording: RecordingStore, factory: WidgetFactory, response: dict[str, Any], gone: bool
) -> None:
    known = factory.build("a", 1)
    recording.store.observe(known)
    recording.changes.clear()
    assert recording.store.apply_delete_response(known, json.dumps(response).encode()) is gone
    left = recording.store.get("ns", "a")
    assert (left is None) is gone
    assert left is None or left.metadata.deletion_timestamp is not None
    assert recording.changes == []


def test_tombstones_are_limited_in_number_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tombstones, "MAX_ENTRIES", 3)
    clock = itertools.count()
    stones = tombstones.Tombstones(lambda: next(clock))
    for number in range(5):
        stones.add(f"u-{number}", 7)
    assert [stones.covers(f"u-{number}", 7) for number in range(5)] == [False, False, True, True, True]
    clock = itertools.count(int(tombstones.TTL) + 100)
    assert not stones.covers("u-4", 7)
