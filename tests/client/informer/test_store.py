"""The local copy: which news it takes, which it has already, and whom it tells."""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from traincrew.client import store, tombstones

if TYPE_CHECKING:
    from tests.client.informer.conftest import Thing, Vocabulary

Told = list[tuple[str, str]]


class Copy:
    """A store that notes whom it told what."""

    def __init__(self, words: Vocabulary) -> None:
        self.now = 0.0
        self.told: list[tuple[Thing | None, Thing | None]] = []
        self.store: store.Store[Thing] = store.Store(
            words.decode, on_change=lambda old, new: self.told.append((old, new)), clock=lambda: self.now
        )

    def gone(self, thing: Thing, version: int | str) -> None:
        identity = thing.metadata
        self.store.observe_deletion((identity.namespace, identity.name), identity.uid, str(version))


@pytest.fixture
def copy(words: Vocabulary) -> Copy:
    return Copy(words)


def test_what_the_watch_shows_is_kept_and_told(copy: Copy, words: Vocabulary) -> None:
    first, second = words.thing("a", 1), words.thing("a", 2)
    copy.store.observe(first)
    copy.store.observe(second)
    copy.gone(second, 3)
    assert copy.told == [(None, first), (first, second), (second, None)]
    assert copy.store.get("ns", "a") is None


def test_our_own_writes_are_known_at_once_and_told_to_nobody(copy: Copy, words: Vocabulary) -> None:
    created, patched = words.thing("a", 1), words.thing("a", 2)
    copy.store.apply_response(created)
    copy.store.apply_response(patched)
    assert copy.store.get("ns", "a") is patched
    copy.store.observe(created)
    copy.store.observe(patched)
    assert copy.store.get("ns", "a") is patched
    assert copy.told == []


def test_a_server_answer_may_be_learnt_as_it_came(copy: Copy) -> None:
    raw = b'{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"},"phase":"x"}'
    assert copy.store.apply_response(raw).phase == "x"
    assert len(copy.store) == 1


def test_what_comes_after_our_write_is_told(copy: Copy, words: Vocabulary) -> None:
    ours, theirs = words.thing("a", 1), words.thing("a", 2)
    copy.store.apply_response(ours)
    copy.store.observe(ours)
    copy.store.observe(theirs)
    assert copy.told == [(ours, theirs)]


def test_an_answer_that_comes_after_newer_news_is_not_taken(copy: Copy, words: Vocabulary) -> None:
    newer = words.thing("a", 5)
    copy.store.observe(newer)
    assert copy.store.apply_response(words.thing("a", 4)) is newer
    assert copy.store.get("ns", "a") is newer


def test_a_write_whose_echo_is_faster_than_its_answer_is_told_to_nobody(copy: Copy, words: Vocabulary) -> None:
    created, patched = words.thing("a", 1), words.thing("a", 2)
    for answer in (created, patched):
        with copy.store.pending_write("ns", "a"):
            copy.store.observe(answer)
            assert copy.store.get("ns", "a") is answer
            copy.store.apply_response(answer)
    with copy.store.pending_write("ns", "a"):
        copy.gone(patched, 3)
        copy.store.remove(patched)
    assert copy.told == []


def test_what_others_do_during_a_write_of_ours_is_told_after_it(copy: Copy, words: Vocabulary) -> None:
    ours, theirs = words.thing("a", 1), words.thing("a", 2)
    with copy.store.pending_write("ns", "a"):
        copy.store.observe(ours)
        copy.store.observe(theirs)
        copy.store.apply_response(ours)
        assert copy.told == []
    assert copy.told == [(ours, theirs)]
    copy.told.clear()
    with copy.store.pending_write("ns", "a"):
        copy.gone(theirs, 3)
    assert copy.told == [(theirs, None)]


def test_what_happens_during_a_write_that_fails_is_told(copy: Copy, words: Vocabulary) -> None:
    theirs = words.thing("a", 1)
    with contextlib.suppress(TimeoutError), copy.store.pending_write("ns", "a"):
        copy.store.observe(theirs)
        raise TimeoutError
    assert copy.told == [(None, theirs)]


def test_of_two_writes_at_once_the_last_to_end_tells(copy: Copy, words: Vocabulary) -> None:
    first, second, theirs = (words.thing("a", version) for version in (1, 2, 3))
    with copy.store.pending_write("ns", "a"):
        with copy.store.pending_write("ns", "a"):
            copy.store.observe(first)
            copy.store.apply_response(first)
        copy.store.observe(second)
        copy.store.observe(theirs)
        copy.store.apply_response(second)
        assert copy.told == []
    assert copy.told == [(second, theirs)]


def test_other_objects_are_told_of_during_a_write(copy: Copy, words: Vocabulary) -> None:
    other = words.thing("b", 1)
    with copy.store.pending_write("ns", "a"):
        copy.store.observe(other)
    assert copy.told == [(None, other)]


def test_somebody_elses_change_inside_our_answer_is_still_told(copy: Copy, words: Vocabulary) -> None:
    """Else nobody would look again: the change came with our own write, whose echo tells nothing."""
    copy.store.observe(words.thing("a", 1))
    answer = words.thing("a", 4)
    copy.store.apply_response(words.thing("a", 2))
    copy.store.apply_response(answer)
    copy.told.clear()
    for version in (2, 3, 4):
        copy.store.observe(words.thing("a", version))
    assert copy.told == [(answer, answer)]


@pytest.mark.parametrize("answered_first", [True, False])
def test_a_list_that_shows_our_write_is_told_for_what_it_may_hide(copy: Copy, words: Vocabulary, answered_first: bool) -> None:
    """Of version 2, somebody else's, no event comes any more."""
    copy.store.observe(words.thing("a", 1))
    copy.told.clear()
    ours = words.thing("a", 3)
    with copy.store.pending_write("ns", "a"):
        if answered_first:
            copy.store.apply_response(ours)
        copy.store.observe(ours, listed=True)
        copy.store.apply_response(ours)
    assert [new for _, new in copy.told] == [ours]


def test_a_deletion_of_ours_is_known_at_once_and_not_undone_by_late_news(copy: Copy, words: Vocabulary) -> None:
    known = words.thing("a", 1)
    copy.store.apply_response(known)
    copy.store.remove(known)
    copy.store.observe(words.thing("a", 2))
    copy.store.apply_response(words.thing("a", 2))
    copy.gone(known, 3)
    assert len(copy.store) == 0
    assert copy.told == []


def test_an_answer_that_comes_after_the_deletion_is_not_taken(copy: Copy, words: Vocabulary) -> None:
    copy.store.observe(words.thing("a", 1))
    copy.gone(words.thing("a", 1), 5)
    copy.store.apply_response(words.thing("a", 4))
    assert len(copy.store) == 0


def test_what_left_by_losing_a_label_may_come_back(copy: Copy, words: Vocabulary) -> None:
    copy.store.observe(words.thing("a", 1))
    copy.gone(words.thing("a", 1), 2)
    back = words.thing("a", 3)
    copy.store.observe(back)
    assert copy.store.get("ns", "a") is back


def test_a_namesake_replaces_an_object_that_has_gone(copy: Copy, words: Vocabulary) -> None:
    old, new = words.thing("a", 1, uid="u-1", owner="o"), words.thing("a", 9, uid="u-2", owner="o")
    copy.store.observe(old)
    copy.store.observe(new)
    copy.gone(old, 8)
    copy.store.observe(words.thing("a", 7, uid="u-1", owner="o"))
    assert copy.store.get("ns", "a") is new
    assert copy.store.owned_by("o") == (new,)
    assert copy.told == [(None, old), (old, None), (None, new)]


def test_a_namesake_of_ours_outlives_the_late_deletion_of_its_predecessor(copy: Copy, words: Vocabulary) -> None:
    old, new = words.thing("a", 1, uid="u-1"), words.thing("a", 9, uid="u-2")
    copy.store.observe(old)
    copy.store.apply_response(new)
    copy.gone(old, 8)
    assert copy.store.get("ns", "a") is new


def test_an_answer_about_a_predecessor_is_not_taken_when_its_namesake_has_gone_too(copy: Copy, words: Vocabulary) -> None:
    copy.store.observe(words.thing("a", 1, uid="u-1"))
    copy.store.observe(words.thing("a", 9, uid="u-2"))
    copy.gone(words.thing("a", 9, uid="u-2"), 10)
    copy.store.apply_response(words.thing("a", 5, uid="u-1"))
    assert len(copy.store) == 0


def test_an_answer_about_what_came_and_went_before_a_list_is_not_taken(copy: Copy, words: Vocabulary) -> None:
    copy.store.observe_version(None, "7")
    copy.store.apply_response(words.thing("a", 7))
    assert len(copy.store) == 0
    copy.store.apply_response(words.thing("a", 8))
    assert len(copy.store) == 1


def test_objects_are_found_by_their_controller(copy: Copy, words: Vocabulary) -> None:
    a, b, other = words.thing("a", 1, owner="o"), words.thing("b", 2, owner="o"), words.thing("c", 3, owner="p")
    for each in (a, b, other):
        copy.store.observe(each)
    assert copy.store.owned_by("o") == (a, b)
    orphan = words.thing("b", 4)
    copy.store.observe(orphan)
    copy.gone(a, 5)
    assert copy.store.owned_by("o") == ()
    assert sorted(each.metadata.name for each in copy.store) == ["b", "c"]


def test_where_versions_are_no_numbers_the_watch_is_right(copy: Copy, words: Vocabulary) -> None:
    learnt, shown = words.thing("a", "zz"), words.thing("a", "aa")
    copy.store.apply_response(learnt)
    copy.store.observe(shown)
    assert copy.told == [(learnt, shown)]
    copy.gone(shown, "bb")
    copy.store.observe(shown)
    assert copy.store.get("ns", "a") is shown


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
    ("answer", "gone"),
    [
        pytest.param({"kind": "Status", "status": "Success"}, True, id="a Status"),
        pytest.param({"kind": "Pod", "metadata": deleted(grace=30)}, False, id="a pod that may still run"),
        pytest.param({"kind": "Pod", "metadata": deleted(grace=0)}, True, id="a pod that never ran"),
        pytest.param({"kind": "Pod", "metadata": deleted(finalizers=["x"])}, False, id="held by a finalizer"),
        pytest.param({"kind": "Service", "metadata": {"name": "a", "uid": "uid-a"}}, True, id="a service"),
    ],
)
def test_the_answer_to_a_delete_says_whether_the_object_is_gone(
    copy: Copy, words: Vocabulary, answer: dict[str, Any], gone: bool
) -> None:
    known = words.thing("a", 1)
    copy.store.observe(known)
    copy.told.clear()
    assert copy.store.apply_delete_response(known, json.dumps(answer).encode()) is gone
    left = copy.store.get("ns", "a")
    assert (left is None) is gone
    assert left is None or left.metadata.deletion_timestamp is not None
    assert copy.told == []


def test_tombstones_are_few_and_do_not_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tombstones, "MAX_ENTRIES", 3)
    clock = itertools.count()
    stones = tombstones.Tombstones(lambda: next(clock))
    for number in range(5):
        stones.add(f"u-{number}", 7)
    assert [stones.covers(f"u-{number}", 7) for number in range(5)] == [False, False, True, True, True]
    clock = itertools.count(int(tombstones.TTL) + 100)
    assert not stones.covers("u-4", 7)
