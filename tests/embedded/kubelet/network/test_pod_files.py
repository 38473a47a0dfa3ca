"""/etc/hosts and /etc/resolv.conf of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from traincrew.embedded.kubelet.network.pod_files import ResolvConf, hostname, hosts, resolv_conf

HOST = ResolvConf.parse("# made by hand\nnameserver 192.0.2.53\nsearch office.example.\noptions edns0 timeout:2\n")
LOCAL = (
    "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"
)


def _pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "job-worker-0", "namespace": "team"}, "spec": spec}


def test_names_go_to_the_cluster_first() -> None:
    assert resolv_conf(_pod(), "10.244.0.1", "cluster.local", HOST) == (
        "search team.svc.cluster.local svc.cluster.local cluster.local office.example\nnameserver 10.244.0.1\noptions ndots:5\n"
    )


@pytest.mark.parametrize(
    "spec", [{"dnsPolicy": "Default"}, {"hostNetwork": True}, {"hostNetwork": True, "dnsPolicy": "ClusterFirst"}]
)
def test_names_go_where_the_hosts_go(spec: dict[str, Any]) -> None:
    assert resolv_conf(_pod(**spec), "10.244.0.1", "cluster.local", HOST) == (
        "search office.example\nnameserver 192.0.2.53\noptions edns0 timeout:2\n"
    )


def test_a_pod_in_the_hosts_network_may_ask_the_cluster_all_the_same() -> None:
    spec = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    assert "nameserver 10.244.0.1\n" in resolv_conf(_pod(**spec), "10.244.0.1")


def test_a_pod_may_bring_everything_itself() -> None:
    config = {
        "nameservers": ["192.0.2.1"],
        "searches": ["a.example"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
    }
    assert resolv_conf(_pod(dnsPolicy="None", dnsConfig=config), "10.244.0.1", "cluster.local", HOST) == (
        "search a.example\nnameserver 192.0.2.1\noptions ndots:2 edns0\n"
    )


def test_what_a_pod_brings_comes_after_what_it_gets_and_options_replace() -> None:
    config = {
        "nameservers": ["192.0.2.1", "10.244.0.1"],
        "searches": ["a.example", "cluster.local"],
        "options": [{"name": "ndots", "value": "1"}],
    }
    assert resolv_conf(_pod(dnsConfig=config), "10.244.0.1") == (
        "search team.svc.cluster.local svc.cluster.local cluster.local a.example\n"
        "nameserver 10.244.0.1\nnameserver 192.0.2.1\noptions ndots:1\n"
    )


def test_no_more_than_the_c_library_takes() -> None:
    config = {"nameservers": [f"192.0.2.{n}" for n in range(9)], "searches": [f"{n}.{'x' * 60}.example" for n in range(40)]}
    found = resolv_conf(_pod(dnsConfig=config), "10.244.0.1").splitlines()
    assert len(found[0].removeprefix("search ")) <= 2048
    assert sum(line.startswith("nameserver") for line in found) == 3


def test_a_pod_knows_itself() -> None:
    assert hosts(_pod(), "10.244.0.5") == f"# Kubernetes-managed hosts file.\n{LOCAL}10.244.0.5\tjob-worker-0\n"


def test_a_pod_with_a_subdomain_knows_its_full_name() -> None:
    found = hosts(_pod(hostname="zero", subdomain="job"), "10.244.0.5")
    assert found.splitlines()[-1] == "10.244.0.5\tzero.job.team.svc.cluster.local\tzero"


def test_aliases_are_added() -> None:
    aliases = [{"ip": "192.0.2.7", "hostnames": ["a", "b"]}]
    assert hosts(_pod(hostAliases=aliases), "10.244.0.5").endswith("\n\n# Entries added by HostAliases.\n192.0.2.7\ta\tb\n")


def test_a_pod_in_the_hosts_network_has_the_hosts_file() -> None:
    assert (
        hosts(_pod(hostNetwork=True), "", host="127.0.0.1 me\n")
        == "# Kubernetes-managed hosts file (host network).\n127.0.0.1 me\n"
    )


def test_a_long_name_is_cut_to_what_the_kernel_takes() -> None:
    assert hostname({"metadata": {"name": "a" * 62 + "-b"}}) == "a" * 62
    assert hostname({"metadata": {"name": "a" * 63}}) == "a" * 63


def test_without_a_network_of_its_own_a_pod_asks_the_hosts_servers_for_the_clusters_names() -> None:
    assert resolv_conf(_pod(), "", "cluster.local", HOST) == (
        "search team.svc.cluster.local svc.cluster.local cluster.local office.example\nnameserver 192.0.2.53\noptions ndots:5\n"
    )
