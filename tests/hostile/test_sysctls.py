"""Pods cannot change kernel settings of the machine."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster.api import Object
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

NAME = "kernel.printk_ratelimit_burst"
"""A setting of the whole machine whose change does no harm."""
FILE = pathlib.Path("/proc/sys/kernel/printk_ratelimit_burst")


@pytest.fixture
def setting() -> Iterator[int]:
    before = FILE.read_text()
    yield int(before)
    if FILE.read_text() != before:
        FILE.write_text(before)


def with_sysctl(name: str, sysctl: str, value: str) -> Object:
    made = pod(name, "cat", f"/proc/sys/{sysctl.replace('.', '/')}")
    made["spec"]["securityContext"] = {"sysctls": [{"name": sysctl, "value": value}]}
    return made


@pytest.mark.parametrize("name", [NAME, NAME.replace(".", "/")])
def test_a_sysctl_of_the_machine_is_forbidden(cluster: HostileCluster, setting: int, name: str) -> None:
    cluster.create(with_sysctl("sets", name, str(setting + 1)))
    status = cluster.ended("sets")["status"]
    message = f'forbidden sysctl: "{NAME}" not allowlisted'
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "SysctlForbidden", f"Pod was rejected: {message}")
    assert ("SysctlForbidden", message) in cluster.events("sets")
    assert int(FILE.read_text()) == setting


def test_an_unsafe_sysctl_is_forbidden_unless_the_node_allows_it(fresh: HostileCluster) -> None:
    before = pathlib.Path("/proc/sys/kernel/msgmax").read_text()
    fresh.up()
    fresh.create(with_sysctl("refused", "kernel.msgmax", "12345"))
    assert fresh.ended("refused")["status"]["reason"] == "SysctlForbidden"
    fresh.down()
    fresh.up("--allowed-unsafe-sysctls", "kernel.msg*")
    fresh.create(with_sysctl("allowed", "kernel.msgmax", "12345"))
    assert fresh.ended("allowed")["status"]["phase"] == "Succeeded"
    assert fresh.logs("allowed") == "12345\n"
    assert pathlib.Path("/proc/sys/kernel/msgmax").read_text() == before
