"""Sysctls of pods: the cases and the messages of the kubelet (pkg/kubelet/sysctl of Kubernetes 1.32)."""

from __future__ import annotations

from typing import Any

import pytest

from traincrew.apimachinery import sysctls
from traincrew.embedded.kubelet.lifecycle.observed import Rejection
from traincrew.embedded.kubelet.lifecycle.sysctl_admission import InvalidPattern, SysctlAllowlist

ALLOWLIST = SysctlAllowlist.with_unsafe(["kernel.msg*", "kernel/sem", "net.b.*"])


def spec(*names: str, **more: Any) -> dict[str, Any]:
    return {"securityContext": {"sysctls": [{"name": name, "value": "1"} for name in names]}, **more}


@pytest.mark.parametrize(
    "name",
    [
        "kernel.shm_rmid_forced",
        "kernel/shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "kernel.msgmax",
        "kernel.sem",
        "net.b.c",
    ],
)
def test_safe_and_allowed_sysctls_are_admitted(name: str) -> None:
    assert ALLOWLIST.admit(spec(name), False) is None


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("kernel.core_pattern", {}, '"kernel.core_pattern" not allowlisted'),
        ("kernel/core_pattern", {}, '"kernel.core_pattern" not allowlisted'),
        ("foo", {}, '"foo" not allowlisted'),
        ("net.a.b.c", {}, '"net.a.b.c" not allowlisted'),
        ("net.ipv4.ip_local_port_range.a.b.c", {}, '"net.ipv4.ip_local_port_range.a.b.c" not allowlisted'),
        ("net.core.somaxconn", {}, '"net.core.somaxconn" not allowlisted'),
        ("kernel.shm_rmid_forced", {"hostIPC": True}, '"kernel.shm_rmid_forced" not allowed with host IPC enabled'),
        ("kernel.msgmax", {"hostIPC": True}, '"kernel.msgmax" not allowed with host IPC enabled'),
        ("net.ipv4.tcp_rmem", {"hostNetwork": True}, '"net.ipv4.tcp_rmem" not allowed with host Net enabled'),
        ("net.b.c", {"hostNetwork": True}, '"net.b.c" not allowed with host Net enabled'),
    ],
)
def test_other_sysctls_are_rejected_as_by_the_kubelet(name: str, more: dict[str, Any], message: str) -> None:
    expected = Rejection("SysctlForbidden", f"forbidden sysctl: {message}")
    assert ALLOWLIST.admit(
        spec("net.ipv4.tcp_syncookies" if "hostNetwork" not in more else "kernel.sem", name, **more), False
    ) == (expected)


def test_without_namespaces_no_sysctl_is_admitted() -> None:
    for name in sysctls.SAFE:
        assert ALLOWLIST.admit(spec(name), True) is not None
    assert ALLOWLIST.admit(spec(), True) is None
    assert ALLOWLIST.admit({}, True) is None


@pytest.mark.parametrize(
    "pattern", [" kernel.msg*", "net.-", "net.*.foo", "net.*/foo", "foo", "foo*", "kernel.*", "vm.overcommit_memory"]
)
def test_a_node_cannot_allow_sysctls_of_the_machine(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        SysctlAllowlist.with_unsafe([pattern])


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("net.ipv4.tcp_rmem", "net/ipv4/tcp_rmem"),
        ("net/ipv4/conf/eth0.1/arp_filter", "net/ipv4/conf/eth0.1/arp_filter"),
        ("net.ipv4.conf.eth0/1.arp_filter", "net/ipv4/conf/eth0.1/arp_filter"),
        ("net.//.kernel.core_pattern", None),
        ("net..kernel", None),
        ("net./.x", None),
    ],
)
def test_the_file_of_a_sysctl_is_below_its_directory(name: str, file: str | None) -> None:
    assert sysctls.file_of(sysctls.normalize_name(name)) == file
