"""Egress through a veth pair with masquerading, pasta or slirp4netns, and the reason if there is none."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from tests.embedded.kubelet.network import scenario_runner
from tests.embedded.kubelet.network.network_harness import EXTERNAL_ADDRESS, NetworkHarness

from traincrew.embedded.kubelet.network.netns_client import NetnsClient, stop

CALL = f"import socket; print(socket.create_connection(({EXTERNAL_ADDRESS!r}, 8080), 20).recv(100).decode())"
FORWARD = pathlib.Path("/proc/sys/net/ipv4/ip_forward")
HIDDEN = "mount --bind /dev/null {}"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="requires root, to create an external network")


def _without(*programs: str) -> str:
    paths = [path for name in programs if (path := shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin"))]
    return "; ".join(HIDDEN.format(path) for path in paths)


def _need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


async def has_egress(harness: NetworkHarness) -> None:
    assert harness.netns.egress == ""
    pod = await harness.pod(5)
    assert await pod.run(CALL) == "198.51.100.2", "the server must see the address of the host"


async def has_no_egress(harness: NetworkHarness) -> None:
    words = harness.netns.egress
    assert words.startswith("pods have no egress: neither pasta nor slirp4netns is installed")
    assert "apt-get install passt" in words
    pod = await harness.pod(5)
    assert "unreachable" in await pod.run(CALL)


def _forwarding() -> str:
    return FORWARD.read_text().strip()


async def two_clusters(harness: NetworkHarness) -> None:
    """The cluster of the harness has enabled net.ipv4.ip_forward. It stops while another one runs."""
    data = harness.data / "other"
    data.mkdir()
    other = await NetnsClient.ensure(data, harness.level, "10.99.0.0/16")
    await harness.netns.close()  # otherwise it would start the netns daemon again
    await stop(harness.data)
    assert _forwarding() == "1", "the other cluster needs it"
    await other.close()
    await stop(data)
    assert _forwarding() == "0", "the last cluster switches it off"
    shutil.rmtree(data)


def _rules() -> str:
    return subprocess.run(["iptables", "-S", "FORWARD"], capture_output=True, text=True, check=True).stdout


def _configure_docker_firewall() -> None:
    """Configures the firewall of the host as Docker does."""
    subprocess.run(["iptables", "-P", "FORWARD", "DROP"], check=True)


async def has_egress_beside_docker(harness: NetworkHarness) -> None:
    await has_egress(harness)
    assert _rules().count("traincrew-") == 2


has_egress_beside_docker.prepare = _configure_docker_firewall  # type: ignore[attr-defined]


async def reports_missing_tun_device(harness: NetworkHarness) -> None:
    assert "/dev/net/tun cannot be opened" in harness.netns.egress


def _make_tun_device_inaccessible() -> None:
    os.chmod("/dev/net/tun", 0o600)


reports_missing_tun_device.prepare = _make_tun_device_inaccessible  # type: ignore[attr-defined]


def test_root_has_egress_through_a_veth_pair_without_any_tool() -> None:
    scenario_runner.run_scenario(has_egress, "root", before=_without("nft", "iptables", "pasta", "slirp4netns"))


def test_the_last_cluster_that_stops_disables_forwarding() -> None:
    scenario_runner.run_scenario(two_clusters, "root")


def test_root_has_egress_beside_a_firewall_that_drops_forwarded_packets() -> None:
    _need("iptables")
    scenario_runner.run_scenario(has_egress_beside_docker, "root")


EARLIER_RELEASE = """
import subprocess
from traincrew.embedded.kubelet.network import egress
nat = ["iptables", "-t", "nat"]
words = ["POSTROUTING", "-s", "10.99.0.0/16", "!", "-o", "crewab12", "-j", "MASQUERADE", "-m", "comment", "--comment"]
for mark in ("traincrew-ab12", "traincrew-cd34"):
    subprocess.run([*nat, "-I", *words, mark], check=True)
egress.tear_down({"link": "crewab12", "mark": "traincrew-ab12", "subnet": "10.99.0.0/16", "firewall": "iptables"})
print(subprocess.run([*nat, "-S"], capture_output=True, text=True, check=True).stdout)
"""


def test_the_masquerading_rule_of_an_earlier_release_is_removed_and_that_of_another_cluster_stays() -> None:
    _need("iptables")
    command = ["unshare", "--net", sys.executable, "-c", EARLIER_RELEASE]
    rules = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "traincrew-ab12" not in rules
    assert "traincrew-cd34" in rules


def test_an_ordinary_user_has_egress_through_pasta() -> None:
    _need("pasta")
    scenario_runner.run_scenario(has_egress, "user", before=_without("slirp4netns"))


def test_an_ordinary_user_has_egress_through_slirp4netns() -> None:
    _need("slirp4netns")
    scenario_runner.run_scenario(has_egress, "user", before=_without("pasta"))


def test_without_a_userspace_router_the_reason_names_the_package() -> None:
    scenario_runner.run_scenario(has_no_egress, "user", before=_without("pasta", "slirp4netns"))


def test_without_the_tun_device_the_reason_names_the_remedy() -> None:
    if shutil.which("pasta") is None and shutil.which("slirp4netns") is None:
        pytest.skip("neither pasta nor slirp4netns is installed")
    scenario_runner.run_scenario(reports_missing_tun_device, "user")
