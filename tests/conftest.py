"""What every test run shares: numbers of the compatibility checklist, which travel with the results; flaky tests; SIGINT."""

from __future__ import annotations

import signal
from collections.abc import Generator
from typing import Any

import hypothesis
import pytest

from tools import flaky_tests

# A duration of real time says nothing about the code: the machine may be busy.
hypothesis.settings.register_profile("traincrew", deadline=None)
hypothesis.settings.load_profile("traincrew")

MOST = 3
"""A test that claims to prove more lines than this proves none of them well."""


def pytest_configure(config: pytest.Config) -> None:
    # A script starts its background commands with SIGINT ignored. All commands of the tests would inherit that, and ignore ^C.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(flaky_tests.Plugin(flaky_tests.load(flaky_tests.LIST)), "flaky-tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        numbers = [number for mark in item.iter_markers("checklist") for number in mark.args]
        if len(numbers) > MOST:
            raise pytest.UsageError(
                f"{item.nodeid} is marked with {len(numbers)} lines of the checklist, at most {MOST} are allowed"
            )
        item.user_properties.append(("checklist", numbers))


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """A report with a lone surrogate cannot be sent by pytest-xdist: the whole run would end, without the name of the test."""
    report = yield
    return _without_surrogates(report)


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_without_surrogates(each) for each in value)
    return value
