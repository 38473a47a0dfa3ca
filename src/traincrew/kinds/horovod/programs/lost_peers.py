"""Runs a command. Lines of the standard input are addresses of lost hosts: connections to them are shut down, once a line.

The launcher sends a line, mostly an empty one, every few seconds. Without them the launcher is gone, or this node is cut off, and
others may do the same work: the command is ended. So are commands of an earlier launcher that still run here.

When this program ends, however it ends, the launcher takes the rank for ended. A rank that lived on would disturb the next ring:
what a failed command leaves behind is killed.

Usage: lost_peers.py COMMAND [LAUNCHER], where LAUNCHER is different for each launcher.

Runs in the containers of users with any Python from 3.6 on: types are in comments, and nothing but the standard library is used.
"""

import contextlib
import ctypes
import errno
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time

PIDFD_OPEN, PIDFD_GETFD = 434, 438
SILENCE_SECONDS = float(os.environ.get("TRAINCREW_LAUNCHER_SILENCE_SECONDS", "300"))
KILL_SECONDS = 10
libc = ctypes.CDLL(None, use_errno=True)


def descendants(root):  # type: (int) -> list[int]
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as stat:
            parents[int(name)] = int(stat.read().rpartition(")")[2].split()[1])
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def shut_down(pid, number, address):  # type: (int, int, str) -> None
    process = libc.syscall(PIDFD_OPEN, pid, 0)
    if process < 0:
        raise OSError(ctypes.get_errno(), "pidfd_open")
    copy = libc.syscall(PIDFD_GETFD, process, number, 0)
    error = ctypes.get_errno()
    os.close(process)
    if copy < 0:
        raise OSError(error, f"pidfd_getfd: {os.strerror(error)}")
    with socket.socket(fileno=copy) as connection:
        if connection.getpeername()[0].replace("::ffff:", "") == address:
            connection.shutdown(socket.SHUT_RDWR)


def disconnect(root, address):  # type: (int, str) -> None
    for pid in descendants(root):
        try:
            numbers = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for number in numbers:
            try:
                if os.readlink(f"/proc/{pid}/fd/{number}").startswith("socket:"):
                    shut_down(pid, int(number), address)
            except OSError as error:
                # EBADF, ESRCH: the descriptor was closed or its process ended meanwhile. ENOTCONN: a listener.
                if error.errno in (errno.EPERM, errno.ENOSYS):
                    print(f"cannot leave the collective: {error}", file=sys.stderr, flush=True)
                    return


def end(root):  # type: (int) -> None
    """Terminates a process with its descendants, and kills those that are left after a while."""
    found = descendants(root)
    limit = time.monotonic() + KILL_SECONDS
    for pid in found:
        send(pid, signal.SIGTERM)
    while any(os.path.exists(f"/proc/{pid}") for pid in found) and time.monotonic() < limit:
        time.sleep(0.1)
    for pid in found:
        send(pid, signal.SIGKILL)


def send(pid, number):  # type: (int, int) -> None
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def receive(root):  # type: (int) -> None
    done, rest = set(), b""
    while select.select([0], [], [], SILENCE_SECONDS)[0]:
        data = os.read(0, 65536)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            words = line.decode().split()
            if words and line not in done:
                done.add(line)
                disconnect(root, words[0])
    print("the launcher is gone or cannot be reached: the process ends", file=sys.stderr, flush=True)
    end(root)


def end_earlier(launcher):  # type: (str) -> None
    """Ends commands that another launcher has started here: it is gone, or it would be this one."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = os.fsdecode(file.read()).split("\0")[1:-1]
        except OSError:
            continue
        if len(words) == 3 and words[0] == sys.argv[0] and words[2] != launcher:
            end(int(name))


def guard(group):  # type: (int) -> subprocess.Popen[bytes]
    """A process that kills the process group when this one has ended without a line to it, as by SIGKILL."""
    command = ["/bin/sh", "-c", 'read -r line || kill -s KILL -- "-$1"', "sh", str(group)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():  # type: () -> None
    if len(sys.argv) > 2:
        end_earlier(sys.argv[2])
    child = subprocess.Popen(["/bin/sh", "-c", sys.argv[1]], stdin=subprocess.DEVNULL, preexec_fn=os.setpgrp)
    guarding = guard(child.pid)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: child.send_signal(number))
    threading.Thread(target=receive, args=(child.pid,), daemon=True).start()
    code = child.wait()
    if code:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
    if guarding.stdin is not None:
        with contextlib.suppress(OSError):
            os.write(guarding.stdin.fileno(), b"ended\n")
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
