"""Runs in a container, with the standard library only: `host_search_program.py SECRET UNTIL NAMESPACE_OF_HOST…`."""

import contextlib
import ctypes
import os
import sys

KILL = 1 << 5
PIDFD_OPEN, PIDFD_GETFD = 434, 438
libc = ctypes.CDLL(None, use_errno=True)


def status(pid: str) -> dict[str, int]:
    with open(f"/proc/{pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return {name: int(fields[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapBnd")}


def show(secret: str, start: str, how: str) -> None:
    """Looks for the secret at every height above the start."""
    for height in range(16):
        path = start + "/.." * height + secret
        with contextlib.suppress(OSError), open(path) as file:
            print(f"found: {how} leads to {path}: {file.read()}")
            return


def directories(pid: str, secret: str) -> None:
    for name in ("root", "cwd"):
        show(secret, f"/proc/{pid}/{name}", name)
    with contextlib.suppress(OSError):
        # A container has other files at /proc/1/fd.
        for number in os.listdir(f"/proc/{pid}/task/{pid}/fd"):
            show(secret, f"/proc/{pid}/task/{pid}/fd/{number}", f"descriptor {number} of process {pid}")


def stolen(pid: str, secret: str) -> None:
    """Takes descriptors without /proc, which may be masked."""
    process = libc.syscall(PIDFD_OPEN, int(pid), 0)
    for number in range(3, 40) if process >= 0 else ():
        taken = libc.syscall(PIDFD_GETFD, process, number, 0)
        if taken >= 0:
            show(secret, f"/proc/self/fd/{taken}", f"stolen descriptor {number} of process {pid}")
            os.close(taken)
    if process >= 0:
        os.close(process)


def rights(pid: str, own: int) -> None:
    for name, held in status(pid).items():
        if held & ~(own | KILL):
            print(f"found: {name} of process {pid} is {held:x}, that of the container {own:x}")


def namespaces(pid: str, of_host: set[str]) -> None:
    for kind in ("mnt", "pid", "net", "ipc", "uts"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/ns/{kind}") in of_host:
                print(f"found: {kind} namespace of process {pid} is the host's")


def search(secret: str, own: int, of_host: set[str]) -> None:
    for pid in (name for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()):
        with contextlib.suppress(OSError):
            directories(pid, secret)
            stolen(pid, secret)
            rights(pid, own)
            namespaces(pid, of_host)


def main(secret: str, until: str, of_host: set[str]) -> None:
    own = status("self")["CapBnd"]
    assert not os.path.exists(secret), "the container sees the file anyway"
    print("searching", flush=True)
    search(secret, own, of_host)
    while until and not os.path.exists(until):
        search(secret, own, of_host)
    print("searched", flush=True)


main(sys.argv[1], sys.argv[2], set(sys.argv[3:]))
