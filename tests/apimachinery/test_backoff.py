"""Exponential back-off."""

from __future__ import annotations

from traincrew.apimachinery import backoff


def test_the_delay_doubles_with_each_failure_up_to_the_longest() -> None:
    assert [backoff.exponential_delay(failures, 10, 300) for failures in range(1, 8)] == [10, 20, 40, 80, 160, 300, 300]


def test_no_number_of_failures_overflows() -> None:
    assert backoff.exponential_delay(10**9, 0.005, 1000) == 1000
    assert backoff.exponential_delay(0, 0.005, 1000) == 0.005
