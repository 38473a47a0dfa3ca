"""Userspace routers for egress without root: pasta or slirp4netns."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

from traincrew.embedded import process_identity
from traincrew.embedded.kubelet.network import executables, netns_state
from traincrew.embedded.kubelet.network.netns_state import Record

_START_TIMEOUT = 5.0
_INSTALL = "install one of them (Debian, Ubuntu: apt-get install passt; Fedora: dnf install passt; Arch: pacman -S passt)"
_TUN = "/dev/net/tun"


def start(pid: int, link: str) -> Record:
    """Starts one for the network namespace of that process, where it creates the link. `why`: empty, or the reason."""
    installed = [(name, path) for name in ("pasta", "slirp4netns") if (path := executables.find(name))]
    if not installed:
        return {"why": f"neither pasta nor slirp4netns is installed; {_INSTALL}"}
    if not os.access(_TUN, os.R_OK | os.W_OK):
        return {"why": f"{_TUN} cannot be opened by this user (as root: modprobe tun; chmod 666 {_TUN})"}
    refused = []
    for name, path in installed:
        try:
            process = (_pasta if name == "pasta" else _slirp)(path, pid, link)
        except OSError as error:
            refused.append(f"{name} failed: {error.strerror}")
            continue
        return {"how": name, "process": process_identity.of(process), "why": ""}
    return {"why": "; ".join(refused)}


def stop(process: Record) -> None:
    if process_identity.is_alive(process):
        with contextlib.suppress(OSError):
            os.kill(int(process["pid"]), signal.SIGTERM)


def _pasta(path: str, pid: int, link: str) -> int:
    """pasta forks into the background when it is ready, and ends with the process."""
    import subprocess

    written = f"pasta.{pid}"
    closed = ("-t", "none", "-u", "none", "-T", "none", "-U", "none", "--no-map-gw", "--quiet")
    user = ("--runas", "0") if os.geteuid() == 0 else ()
    command = [path, "--config-net", "--ns-ifname", link, *closed, *user, "--pid", os.path.abspath(written), str(pid)]
    try:
        done = subprocess.run(command, stdin=-3, stdout=-3, stderr=subprocess.PIPE, timeout=_START_TIMEOUT, text=True)
        if done.returncode != 0:
            raise OSError(5, (done.stderr.strip().splitlines() or ["no reason given"])[-1])
        with open(written) as file:
            return int(file.read())
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise OSError(110, str(error)) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(written)


def _slirp(path: str, pid: int, link: str) -> int:
    import subprocess

    ready, ready_writer = os.pipe()
    with open(netns_state.LOG, "ab") as log:
        command = [path, "--configure", "--mtu=1500", "--disable-host-loopback", f"--ready-fd={ready_writer}", str(pid), link]
        process = subprocess.Popen(command, stdin=-3, stdout=-3, stderr=log, pass_fds=(ready_writer,), start_new_session=True)
    os.close(ready_writer)
    try:
        if not select.select([ready], [], [], _START_TIMEOUT)[0] or os.read(ready, 1) != b"1":
            process.kill()
            process.wait()
            raise OSError(5, f"it did not start. See its output in {netns_state.LOG}.")
    finally:
        os.close(ready)
    process.returncode = 0  # it outlives this process; avoids a ResourceWarning
    return process.pid


def wait_until_gone(process: Record, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while process_identity.is_alive(process) and time.monotonic() < end:
        time.sleep(0.01)
    return not process_identity.is_alive(process)
