"""Elastic jobs on idle devices of two nodes of a real Kubernetes, with real Horovod and real torchrun."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.seeds import joined_nodes, test_elastic_idle, test_torchrun_idle
from tests.seeds.clusters import Say
from tests.seeds.joined_nodes import Nodes


@pytest.fixture(scope="module")
def nodes(say: Say) -> Iterator[Nodes]:
    with joined_nodes.joined(say) as found:
        yield found


def test_horovod_grows_into_idle_devices_of_both_nodes_and_gives_them_back(nodes: Nodes, tmp_path: pathlib.Path) -> None:
    test_elastic_idle.test_it_grows_into_idle_devices_and_gives_them_back_to_a_job_that_waits(nodes.steady, tmp_path)


def test_torchrun_grows_into_idle_devices_of_both_nodes_and_gives_them_back(nodes: Nodes, tmp_path: pathlib.Path) -> None:
    test_torchrun_idle.test_a_torchrun_job_grows_into_idle_devices_and_gives_them_back(nodes.steady, tmp_path)
