"""/etc/hosts and /etc/resolv.conf of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from traincrew.embedded.kubelet.network.pod_files import (
    HostnameTooLong,
    ResolvConf,
    hostname,
    hosts,
    kernel_hostname,
    resolv_conf,
)

HOST = ResolvConf.parse("# made by hand\nnameserver 192.0.2.53\nsearch office.example.\noptions edns0 timeout:2\n")
LOCAL = (
    "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"
)


def _pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "job-worker-0", "namespace": "team"}, "spec": spec}


def test_cluster_first_uses_the_cluster_dns() -> None:
    assert resolv_conf(_pod(), "10.244.0.1", "cluster.local", HOST) == (
        "search team.svc.cluster.local svc.cluster.local cluster.local office.example\nnameserver 10.244.0.1\noptions ndots:5\n"
    )


@pytest.mark.parametrize(
    "spec", [{"dnsPolicy": "Default"}, {"hostNetwork": True}, {"hostNetwork": True, "dnsPolicy": "ClusterFirst"}]
)
def test_the_default_policy_uses_the_resolv_conf_of_the_host(spec: dict[str, Any]) -> None:
    assert resolv_conf(_pod(**spec), "10.244.0.1", "cluster.local", HOST) == (
        "search office.example\nnameserver 192.0.2.53\noptions edns0 timeout:2\n"
    )


def test_a_pod_with_host_network_can_use_the_cluster_dns() -> None:
    spec = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    assert "nameserver 10.244.0.1\n" in resolv_conf(_pod(**spec), "10.244.0.1")


def test_the_policy_none_uses_dns_config_only() -> None:
    config = {
        "nameservers": ["192.0.2.1"],
        "searches": ["a.example"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
    }
    assert resolv_conf(_pod(dnsPolicy="None", dnsConfig=config), "10.244.0.1", "cluster.local", HOST) == (
        "search a.example\nnameserver 192.0.2.1\noptions ndots:2 edns0\n"
    )


def test_dns_config_is_appended_and_its_options_replace_others() -> None:
    config = {
        "nameservers": ["192.0.2.1", "10.244.0.1"],
        "searches": ["a.example", "cluster.local"],
        "options": [{"name": "ndots", "value": "1"}],
    }
    assert resolv_conf(_pod(dnsConfig=config), "10.244.0.1") == (
        "search team.svc.cluster.local svc.cluster.local cluster.local a.example\n"
        "nameserver 10.244.0.1\nnameserver 192.0.2.1\noptions ndots:1\n"
    )


def test_the_limits_of_the_c_library_apply() -> None:
    config = {"nameservers": [f"192.0.2.{n}" for n in range(9)], "searches": [f"{n}.{'x' * 60}.example" for n in range(40)]}
    lines = resolv_conf(_pod(dnsConfig=config), "10.244.0.1").splitlines()
    assert len(lines[0].removeprefix("search ")) <= 2048
    assert sum(line.startswith("nameserver") for line in lines) == 3


def test_the_hosts_file_has_the_address_of_the_pod() -> None:
    assert hosts(_pod(), "10.244.0.5") == f"# Kubernetes-managed hosts file.\n{LOCAL}10.244.0.5\tjob-worker-0\n"


def test_a_pod_with_a_subdomain_has_its_fqdn() -> None:
    text = hosts(_pod(hostname="zero", subdomain="job"), "10.244.0.5")
    assert text.splitlines()[-1] == "10.244.0.5\tzero.job.team.svc.cluster.local\tzero"


def test_host_aliases_are_added() -> None:
    aliases = [{"ip": "192.0.2.7", "hostnames": ["a", "b"]}]
    assert hosts(_pod(hostAliases=aliases), "10.244.0.5").endswith("\n\n# Entries added by HostAliases.\n192.0.2.7\ta\tb\n")


def test_a_pod_with_host_network_has_the_hosts_file_of_the_host() -> None:
    assert (
        hosts(_pod(hostNetwork=True), "", host="127.0.0.1 me\n")
        == "# Kubernetes-managed hosts file (host network).\n127.0.0.1 me\n"
    )


def test_a_long_hostname_is_truncated_to_the_limit_of_the_kernel() -> None:
    assert hostname({"metadata": {"name": "a" * 62 + "-b"}}) == "a" * 62
    assert hostname({"metadata": {"name": "a" * 63}}) == "a" * 63


def test_without_a_gateway_a_pod_queries_the_servers_of_the_host() -> None:
    assert resolv_conf(_pod(), "", "cluster.local", HOST) == (
        "search team.svc.cluster.local svc.cluster.local cluster.local office.example\nnameserver 192.0.2.53\noptions ndots:5\n"
    )


def test_the_fqdn_is_the_hostname_if_the_pod_wants_it() -> None:
    assert kernel_hostname(_pod(hostname="zero", subdomain="job", setHostnameAsFQDN=True)) == "zero.job.team.svc.cluster.local"
    assert kernel_hostname(_pod(hostname="zero", subdomain="job")) == "zero"
    assert kernel_hostname(_pod(hostname="zero", setHostnameAsFQDN=True)) == "zero"
    with pytest.raises(HostnameTooLong, match=r"FQDN .* is too long \(64 characters is the max, 70 characters requested\)"):
        kernel_hostname(_pod(hostname="z" * 40, subdomain="longer", setHostnameAsFQDN=True))
