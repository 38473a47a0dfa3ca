"""Which log lines of kubectl are not compared."""

from __future__ import annotations

import pytest
from tests.embedded.clients.normalization import normalize

REFLECTOR = "k8s.io/client-go@v0.32.2/tools/cache/reflector.go:251: Failed to watch *unstructured.Unstructured: "
PREFIX = "E1116 20:01:02.123456   12345 reflector.go:166] "
PASSED = "context deadline exceeded"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(f'{PREFIX}"Unhandled Error" err="{REFLECTOR}{PASSED}"\n', id="kubectl 1.32"),
        pytest.param(f"{PREFIX}{REFLECTOR}{PASSED}\n", id="kubectl 1.28"),
    ],
)
def test_a_watch_that_kubectl_did_not_request_in_time_is_not_compared(line: str) -> None:
    assert normalize(f"before\n{line}after\n") == "before\nafter\n"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(rf"Get \"https://127.0.0.1:1/a?watch=true\": {PASSED}", id="a watch that was requested"),
        pytest.param(rf"failed to list *unstructured.Unstructured: Get \"https://127.0.0.1:1/a\": {PASSED}", id="a list"),
        pytest.param("the server is currently unable to handle the request", id="a rejected watch"),
    ],
)
def test_an_error_of_the_api_server_is_compared(fault: str) -> None:
    assert "Failed to watch" in normalize(f'before\n{PREFIX}"Unhandled Error" err="{REFLECTOR}{fault}"\nafter\n')
