"""No request of less than 100 kB occupies the API server, takes much memory, or is answered by an internal error."""

from __future__ import annotations

import json
import pathlib
import resource
import subprocess
import sys

import pytest
from tests.hostile import costly_requests
from tests.hostile.costly_requests import Cost

ADDRESS_SPACE = 4 << 30
CPU_SECONDS = 3.0
"""Of the thread of the server. The promise is 0.5; the margin is for machines that are slower and busy."""
MEBIBYTES = 200.0
"""The promise is 100."""


def _limit() -> None:
    """A request that succeeds as an attack ends this process, and harms no other."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cost]:
    data: pathlib.Path = tmp_path_factory.mktemp("costly") / "data"
    command = [sys.executable, "-m", "tests.hostile.costly_requests", str(data)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=_limit, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return {cost.case: cost for cost in (Cost(*json.loads(line)) for line in done.stdout.splitlines())}


@pytest.mark.parametrize("case", [case.__name__ for case in costly_requests.CASES])
def test_a_request_costs_no_more_than_its_size_allows(costs: dict[str, Cost], case: str) -> None:
    cost = costs[case]
    assert not cost.problem
    assert cost.cpu_seconds < CPU_SECONDS
    assert cost.mebibytes < MEBIBYTES
