"""Masquerading, and being let through by a firewall that forwards nothing unless told (as Docker sets it up)."""

from __future__ import annotations

import contextlib

from traincrew.embedded.kubelet.network import executables, nftables
from traincrew.embedded.kubelet.network.addresses import Subnet

_TABLE = "traincrew"


def masquerade_on(link: str, subnet: Subnet) -> None:
    """For what leaves by that link; in a network namespace of our own."""
    nftables.masquerade(_TABLE, subnet, link, by_link=True)


def allow_egress(mark: str, subnet: Subnet, link: str) -> str:
    """For what comes by that link and leaves by any other. Tells by what means: nft or iptables. Raises OSError."""
    iptables = executables.find("iptables")
    try:
        nftables.masquerade(mark, subnet, link, by_link=False)
        means = "nft"
    except OSError as error:
        if iptables is None:
            raise OSError(error.errno, f"{error.strerror}; nor is iptables installed") from error
        _insist(iptables, "-t", "nat", "-I", *_masquerading(mark, str(subnet), link))
        means = "iptables"
    if iptables is not None and _blocks(iptables):
        for rule in _letting_through(mark, link):
            _insist(iptables, "-I", *rule)
        means += "+forward"
    return means


def revoke_egress(mark: str, means: str, link: str, subnet: str) -> None:
    if means.startswith("nft"):
        nftables.remove(mark)
    iptables = executables.find("iptables")
    if iptables is None:
        return
    if means.startswith("iptables"):
        _run(iptables, "-t", "nat", "-D", *_masquerading(mark, subnet, link))
    if means.endswith("+forward"):
        for rule in _letting_through(mark, link):
            _run(iptables, "-D", *rule)


def _masquerading(mark: str, subnet: str, link: str) -> tuple[str, ...]:
    return "POSTROUTING", "-s", subnet, "!", "-o", link, "-m", "comment", "--comment", mark, "-j", "MASQUERADE"


def _letting_through(mark: str, link: str) -> tuple[tuple[str, ...], ...]:
    marked = ("-m", "comment", "--comment", mark, "-j", "ACCEPT")
    answers = ("-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED")
    return ("FORWARD", "-i", link, *marked), ("FORWARD", "-o", link, *answers, *marked)


def _blocks(iptables: str) -> bool:
    """Whether what is forwarded has to pass anything but an open door."""
    code, said = _run(iptables, "-S", "FORWARD")
    return code == 0 and said.split() != ["-P", "FORWARD", "ACCEPT"]


def _insist(*command: str) -> None:
    code, said = _run(*command)
    if code != 0:
        raise OSError(5, f"{' '.join(command)} failed: {said.strip()}")


def _run(*command: str) -> tuple[int, str]:
    # Imported here: the holder, which needs it once at most, should not carry it.
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
    return 1, f"{command[0]} did not run"
