"""Checks whether pods can reach external networks, without changing the network of the host."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import traincrew
from traincrew.cli.doctor.check_result import CheckResult, ok, warn
from traincrew.embedded.kubelet.network import executables

_TIMEOUT = 20
_TUN = "/dev/net/tun"
_FORWARD = pathlib.Path("/proc/sys/net/ipv4/ip_forward")
_TRIAL = """import sys
sys.path[:0] = [sys.argv[1]]
from traincrew.embedded.kubelet.network import nftables
from traincrew.embedded.kubelet.network.addresses import DEFAULT_SUBNET, Subnet
from traincrew.embedded.kubelet.runtime import syscalls
syscalls.unshare(syscalls.CLONE_NEWNET)
nftables.masquerade("trial", Subnet.parse(DEFAULT_SUBNET), "lo", by_link=False)"""
"""Runs in a network namespace of its own, which is deleted when the process exits."""
_INSTALL = "Install passt (Debian, Ubuntu, Fedora, Arch) or slirp4netns."


def check() -> CheckResult:
    problem = _masquerading_problem() if os.geteuid() == 0 else "not root"
    if not problem:
        return ok("egress", "pods reach external networks by masquerading")
    router = next((name for name in ("pasta", "slirp4netns") if executables.find(name)), "")
    prefix = "" if problem == "not root" else f"{problem}; "
    if not router:
        return warn(
            "egress", f"pods cannot reach external networks: {prefix}neither pasta nor slirp4netns is installed", _INSTALL
        )
    if not os.access(_TUN, os.R_OK | os.W_OK):
        remedy = f"Run as root: modprobe tun; chmod 666 {_TUN} (this allows every user of this machine to create tunnels)"
        return warn("egress", f"pods cannot reach external networks: {prefix}this user cannot open {_TUN}", remedy)
    return ok("egress", f"pods reach external networks through {router}")


def _masquerading_problem() -> str:
    """Why masquerading is not available; empty if it is."""
    if _FORWARD.read_text().strip() != "1" and not os.access(_FORWARD, os.W_OK):
        return "net.ipv4.ip_forward is 0 and cannot be set"
    source = str(pathlib.Path(traincrew.__file__).parent.parent)
    command = [sys.executable, "-I", "-S", "-c", _TRIAL, source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == 0 or executables.find("iptables"):
        return ""
    return f"{(done.stderr.strip().splitlines() or ['nf_tables is not available'])[-1]}, and iptables is not installed"
