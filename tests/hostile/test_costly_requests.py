"""No request of less than 100 kB holds the event loop, takes much memory, or is answered by an internal error.

Nor does what scheduler, controllers and kubelet do with the object that it has stored.

TRAINCREW_FUZZ is the number of enlarged objects, and of random requests in each language (default 150).
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import subprocess
import sys

import pytest
from tests.hostile import cluster_costs, http_costs, request_costs
from tests.hostile.footprint import Footprint, assert_nothing_left
from tests.hostile.request_costs import Cost

NUMBER = os.environ.get("TRAINCREW_FUZZ", "150")
ADDRESS_SPACE = 3 << 30
CPU_SECONDS = 1.0
"""Of the thread of the server. The promise is 0.5, and 0.35 is the most that was measured on two busy cores. CPU time does not
count waiting, but a thread that shares its caches and its core with others takes up to twice as long for the same work."""
MEBIBYTES = 100.0


def _limit() -> None:
    """An attack that succeeds ends its process and harms no other."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (900, 900))


def _costs(module: str, data: pathlib.Path, *arguments: str) -> dict[str, Cost]:
    footprint = Footprint(data)
    command = [sys.executable, "-m", module, str(data), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=_limit, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert_nothing_left(footprint, cluster=True)
    return {cost.case: cost for cost in (Cost(*json.loads(line)) for line in done.stdout.splitlines())}


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cost]:
    return _costs(request_costs.__name__, tmp_path_factory.mktemp("costly") / "data", NUMBER)


@pytest.fixture(scope="module")
def costs_over_https(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cost]:
    return _costs(http_costs.__name__, tmp_path_factory.mktemp("costly") / "data")


@pytest.fixture(scope="module")
def costs_in_the_cluster(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cost]:
    return _costs(cluster_costs.__name__, tmp_path_factory.mktemp("costly") / "data", NUMBER)


def _assert_small(cost: Cost) -> None:
    assert cost.requests
    assert not cost.problems
    assert cost.cpu_seconds < CPU_SECONDS, cost.most_expensive
    assert cost.mebibytes < MEBIBYTES, cost.most_expensive


@pytest.mark.parametrize("case", request_costs.NAMES)
def test_a_request_costs_no_more_than_its_size_allows(costs: dict[str, Cost], case: str) -> None:
    _assert_small(costs[case])


@pytest.mark.parametrize("case", http_costs.NAMES)
def test_headers_credentials_and_documents_cost_no_more_than_their_size_allows(
    costs_over_https: dict[str, Cost], case: str
) -> None:
    _assert_small(costs_over_https[case])


@pytest.mark.parametrize("part", cluster_costs.PARTS)
@pytest.mark.parametrize("case", cluster_costs.NAMES)
def test_a_stored_object_costs_scheduler_controllers_and_kubelet_no_more_than_its_size_allows(
    costs_in_the_cluster: dict[str, Cost], case: str, part: str
) -> None:
    """Of the event loop: what is done in one turn, in which it serves no request."""
    _assert_small(costs_in_the_cluster[cluster_costs.name(case, part)])
