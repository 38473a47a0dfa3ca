"""No port is two jobs' at a time, whatever is on its way to the API server."""

from __future__ import annotations

from traincrew.operator.host_ports import Ledger
from traincrew.operator.job_key import JobKey

KEY = JobKey("jaxjobs", "n", "j")


def test_what_a_job_has_is_taken_for_the_others_and_not_for_itself() -> None:
    ledger = Ledger(lambda key: None)
    ledger.seen("a", {"Master": [1], "Worker": [2, 3]})
    assert [port in ledger.taken("b") for port in (1, 2, 3, 4)] == [True, True, True, False]
    assert all(port not in ledger.taken("a") for port in (1, 2, 3))
    ledger.seen("a", {"Master": [1]})
    assert [port in ledger.taken("b") for port in (1, 2, 3)] == [True, False, False]
    ledger.forget("a")
    assert 1 not in ledger.taken("b")


def test_what_is_being_written_is_taken_already_and_older_news_do_not_give_it_back() -> None:
    ledger = Ledger(lambda key: None)
    ledger.promise("a", {"Worker": [5]})
    ledger.seen("a", {})
    assert 5 in ledger.taken("b")
    ledger.settle("a")
    assert 5 not in ledger.taken("b")


def test_what_is_given_back_is_taken_until_that_is_written() -> None:
    ledger = Ledger(lambda key: None)
    ledger.seen("a", {"Worker": [5]})
    ledger.promise("a", {})
    assert 5 in ledger.taken("b")
    ledger.seen("a", {})
    ledger.settle("a")
    assert 5 not in ledger.taken("b")


def test_two_that_have_the_same_by_mistake_must_both_give_it_back() -> None:
    ledger = Ledger(lambda key: None)
    for uid in ("a", "b"):
        ledger.seen(uid, {"Worker": [5]})
    ledger.forget("a")
    assert 5 in ledger.taken("c")
    assert 5 not in ledger.taken("b")


def test_jobs_that_wait_are_woken_when_something_is_given_back() -> None:
    woken: list[JobKey] = []
    ledger = Ledger(woken.append)
    ledger.seen("a", {"Worker": [5]})
    ledger.waits("b", KEY, True)
    ledger.seen("a", {"Worker": [5, 6]})
    assert woken == []
    ledger.seen("a", {"Worker": [5]})
    assert woken == [KEY]
    ledger.waits("b", KEY, False)
    ledger.forget("a")
    assert woken == [KEY]


def test_what_somebody_else_listens_on_is_taken_and_asked_for_once() -> None:
    asked: list[int] = []

    def busy() -> set[int]:
        asked.append(1)
        return {7}

    ledger = Ledger(lambda key: None)
    ledger.busy = busy
    taken = ledger.taken("a")
    assert asked == []
    assert [port in taken for port in (7, 8, 7)] == [True, False, True]
    assert asked == [1]
