"""Masquerading, and rules that allow forwarding where the host drops it by default, as Docker configures it."""

from __future__ import annotations

import contextlib

from traincrew.embedded.kubelet.network import executables, nftables
from traincrew.embedded.kubelet.network.addresses import Subnet

_TABLE = "traincrew"


def masquerade_on(link: str, subnet: Subnet) -> None:
    """Masquerades packets that leave by that link, in the cluster's network namespace."""
    nftables.masquerade(_TABLE, subnet, link, by_link=True)


def allow_egress(mark: str, subnet: Subnet, link: str, nodes: str) -> str:
    """Masquerades packets from the subnet that leave by a link of no node of this machine. nodes: the prefix of these links.

    Returns the means: nft or iptables. Raises OSError.
    """
    iptables = executables.find("iptables")
    try:
        nftables.masquerade(mark, subnet, nodes, by_link=False)
        means = "nft"
    except OSError as error:
        if iptables is None:
            raise OSError(error.errno, f"{error.strerror}, and iptables is not installed") from error
        _check_run(iptables, "-t", "nat", "-I", *_masquerade_rule(mark, str(subnet), nodes))
        means = "iptables"
    if iptables is not None and _filters_forwarding(iptables):
        for rule in _forward_rules(mark, link):
            _check_run(iptables, "-I", *rule)
        means += "+forward"
    return means


def revoke_egress(mark: str, means: str) -> None:
    if means.startswith("nft"):
        nftables.remove(mark)
    if means != "nft":
        revoke_all(mark)  # also rules of an earlier release, which named other links


def revoke_all(mark: str) -> None:
    """Deletes the iptables rules that have the mark as their comment."""
    iptables = executables.find("iptables")
    if iptables is None:
        return
    for table in ("nat", "filter"):
        code, output = _run(iptables, "-t", table, "-S")
        for line in output.splitlines() if code == 0 else ():
            words = line.split()
            if words[:1] == ["-A"] and mark in words:
                _run(iptables, "-t", table, "-D", *words[1:])


def _masquerade_rule(mark: str, subnet: str, nodes: str) -> tuple[str, ...]:
    return "POSTROUTING", "-s", subnet, "!", "-o", f"{nodes}+", "-m", "comment", "--comment", mark, "-j", "MASQUERADE"


def _forward_rules(mark: str, link: str) -> tuple[tuple[str, ...], ...]:
    accepted = ("-m", "comment", "--comment", mark, "-j", "ACCEPT")
    replies = ("-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED")
    return ("FORWARD", "-i", link, *accepted), ("FORWARD", "-o", link, *replies, *accepted)


def _filters_forwarding(iptables: str) -> bool:
    """Whether FORWARD has any rule, or a policy other than ACCEPT."""
    code, output = _run(iptables, "-S", "FORWARD")
    return code == 0 and output.split() != ["-P", "FORWARD", "ACCEPT"]


def _check_run(*command: str) -> None:
    code, output = _run(*command)
    if code != 0:
        raise OSError(5, f"{' '.join(command)} failed: {output.strip()}")


def _run(*command: str) -> tuple[int, str]:
    # Imported here to keep the netns daemon small: it rarely needs the module.
    import subprocess

    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            [command[0], "-w", "5", *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=-1,
            stderr=subprocess.STDOUT,
            timeout=10,
            text=True,
        )
        return done.returncode, done.stdout
    return 1, f"{command[0]} cannot be run"
