"""Host ports: no port belongs to two jobs at a time, also while a status is being written."""

from __future__ import annotations

from traincrew.operator.host_ports import PortAllocations
from traincrew.operator.job_key import JobQueueKey

KEY = JobQueueKey("jaxjobs", "n", "j")


def test_ports_of_a_job_are_taken_for_other_jobs_only() -> None:
    ports = PortAllocations(lambda key: None)
    ports.observed("a", {"Master": [1], "Worker": [2, 3]})
    assert [port in ports.taken("b") for port in (1, 2, 3, 4)] == [True, True, True, False]
    assert all(port not in ports.taken("a") for port in (1, 2, 3))
    ports.observed("a", {"Master": [1]})
    assert [port in ports.taken("b") for port in (1, 2, 3)] == [True, False, False]
    ports.forget("a")
    assert 1 not in ports.taken("b")


def test_reserved_ports_are_taken_before_the_status_is_written() -> None:
    ports = PortAllocations(lambda key: None)
    ports.reserve("a", {"Worker": [5]})
    ports.observed("a", {})
    assert 5 in ports.taken("b")
    ports.end_reservation("a")
    assert 5 not in ports.taken("b")


def test_ports_are_free_only_after_the_status_without_them_is_written() -> None:
    ports = PortAllocations(lambda key: None)
    ports.observed("a", {"Worker": [5]})
    ports.reserve("a", {})
    assert 5 in ports.taken("b")
    ports.observed("a", {})
    ports.end_reservation("a")
    assert 5 not in ports.taken("b")


def test_a_port_that_two_jobs_have_is_free_after_both_gave_it_back() -> None:
    ports = PortAllocations(lambda key: None)
    for uid in ("a", "b"):
        ports.observed(uid, {"Worker": [5]})
    ports.forget("a")
    assert 5 in ports.taken("c")
    assert 5 not in ports.taken("b")


def test_waiting_jobs_are_enqueued_when_a_port_is_freed() -> None:
    enqueued: list[JobQueueKey] = []
    ports = PortAllocations(enqueued.append)
    ports.observed("a", {"Worker": [5]})
    ports.set_waiting("b", KEY, True)
    ports.observed("a", {"Worker": [5, 6]})
    assert enqueued == []
    ports.observed("a", {"Worker": [5]})
    assert enqueued == [KEY]
    ports.set_waiting("b", KEY, False)
    ports.forget("a")
    assert enqueued == [KEY]


def test_ports_on_which_other_processes_listen_are_taken_and_read_once() -> None:
    read: list[int] = []

    def listening() -> set[int]:
        read.append(1)
        return {7}

    ports = PortAllocations(lambda key: None)
    ports.listening = listening
    taken = ports.taken("a")
    assert read == []
    assert [port in taken for port in (7, 8, 7)] == [True, False, True]
    assert read == [1]
