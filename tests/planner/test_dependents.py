"""Objects of a job other than pods and services: they are restored if another client changes them."""

from __future__ import annotations

from tests.planner import manifests
from tests.planner.scenarios import started

from traincrew.model import resources
from traincrew.planner.actions import Patch


def test_only_the_files_that_differ_are_restored() -> None:
    simulation, _ = started(manifests.job("MPIJob", Launcher=1, Worker=1))
    data = simulation.get("configmaps", "j-config")["data"]
    right = data["hostfile"]
    data["hostfile"] = "elsewhere"

    stages = simulation.plan().stages

    assert stages == ((Patch(resources.CONFIG_MAPS, "j-config", {"data": {"hostfile": right}}),),)


def test_a_file_that_another_client_adds_is_kept_and_needs_no_action() -> None:
    simulation, _ = started(manifests.job("MPIJob", Launcher=1, Worker=1))
    simulation.get("configmaps", "j-config")["data"]["notes"] = "by another client"

    assert simulation.plan().empty


def test_a_role_that_allows_too_little_is_restored() -> None:
    simulation, _ = started(manifests.job("MPIJob", Launcher=1, Worker=1))
    role = simulation.get("roles", "j-launcher")
    rules = role["rules"]
    role["rules"] = rules[:1]

    assert simulation.plan().stages == ((Patch(resources.ROLES, "j-launcher", {"rules": rules}),),)
