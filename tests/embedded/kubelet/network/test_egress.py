"""The way out: by a link with masquerading, by pasta, by slirp4netns, or not at all and told so."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest
from tests.embedded.kubelet.network import scenario_runner
from tests.embedded.kubelet.network.network_harness import EXTERNAL_ADDRESS, NetworkHarness

from traincrew.embedded.kubelet.network.netns_client import NetnsClient, stop

CALL = f"import socket; print(socket.create_connection(({EXTERNAL_ADDRESS!r}, 8080), 20).recv(100).decode())"
FORWARD = pathlib.Path("/proc/sys/net/ipv4/ip_forward")
HIDDEN = "mount --bind /dev/null {}"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to play the outside world")


def _without(*programs: str) -> str:
    paths = [path for name in programs if (path := shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin"))]
    return "; ".join(HIDDEN.format(path) for path in paths)


def _need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


async def way_out(harness: NetworkHarness) -> None:
    assert harness.netns.egress == ""
    pod = await harness.pod(5)
    assert await pod.run(CALL) == "198.51.100.2", "the world sees the host"


async def no_way_out(harness: NetworkHarness) -> None:
    words = harness.netns.egress
    assert words.startswith("pods have no egress: neither pasta nor slirp4netns is installed")
    assert "apt-get install passt" in words
    pod = await harness.pod(5)
    assert "unreachable" in await pod.run(CALL)


def _forwarding() -> str:
    return FORWARD.read_text().strip()


async def two_clusters(harness: NetworkHarness) -> None:
    """The cluster of the stage has switched net.ipv4.ip_forward on. It stops while another one runs."""
    data = harness.data / "other"
    data.mkdir()
    other = await NetnsClient.ensure(data, harness.level, "10.99.0.0/16")
    await harness.netns.close()  # else it would start the network namespace daemon again
    await stop(harness.data)
    assert _forwarding() == "1", "the other cluster needs it"
    await other.close()
    await stop(data)
    assert _forwarding() == "0", "the last cluster switches it off"
    shutil.rmtree(data)


def _rules() -> str:
    return subprocess.run(["iptables", "-S", "FORWARD"], capture_output=True, text=True, check=True).stdout


def _docker() -> None:
    """What Docker does to the host's firewall."""
    subprocess.run(["iptables", "-P", "FORWARD", "DROP"], check=True)


async def beside_docker(harness: NetworkHarness) -> None:
    await way_out(harness)
    assert _rules().count("traincrew-") == 2


beside_docker.prepare = _docker  # type: ignore[attr-defined]


async def without_device(harness: NetworkHarness) -> None:
    assert "/dev/net/tun cannot be opened" in harness.netns.egress


def _closed_device() -> None:
    os.chmod("/dev/net/tun", 0o600)


without_device.prepare = _closed_device  # type: ignore[attr-defined]


def test_root_gets_out_by_a_link_without_any_tool_installed() -> None:
    scenario_runner.run_scenario(way_out, "root", before=_without("nft", "iptables", "pasta", "slirp4netns"))


def test_the_last_cluster_that_stops_switches_forwarding_off() -> None:
    scenario_runner.run_scenario(two_clusters, "root")


def test_root_gets_out_beside_a_firewall_that_forwards_nothing() -> None:
    _need("iptables")
    scenario_runner.run_scenario(beside_docker, "root")


def test_an_ordinary_user_gets_out_by_pasta() -> None:
    _need("pasta")
    scenario_runner.run_scenario(way_out, "user", before=_without("slirp4netns"))


def test_an_ordinary_user_gets_out_by_slirp4netns() -> None:
    _need("slirp4netns")
    scenario_runner.run_scenario(way_out, "user", before=_without("pasta"))


def test_without_a_program_for_it_status_can_tell_what_to_install() -> None:
    scenario_runner.run_scenario(no_way_out, "user", before=_without("pasta", "slirp4netns"))


def test_without_the_device_status_can_tell_what_to_open() -> None:
    if shutil.which("pasta") is None and shutil.which("slirp4netns") is None:
        pytest.skip("neither pasta nor slirp4netns is installed")
    scenario_runner.run_scenario(without_device, "user")
