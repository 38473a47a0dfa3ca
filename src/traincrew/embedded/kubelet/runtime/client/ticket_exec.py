"""Runs a command in a container with an exec ticket, directly through the exec socket of the pod's shim.

Uses the standard library only: this file is copied into containers.
"""

from __future__ import annotations

import json
import os
import socket
import sys


class ExecRejected(Exception):
    """The shim did not start the command."""


def run(path: str, secret: str, argv: list[str], env: dict[str, str] | None = None) -> int:
    """Returns the exit code of the command. It uses this process's standard input, output and error.

    The command is killed when this process ends. ConnectionError: the pod is gone.
    """
    with _connect(path) as sock:
        request = {"secret": secret, "argv": argv, "env": env or {}, "fds": 3}
        data = memoryview(json.dumps(request).encode() + b"\n")
        sent = socket.send_fds(sock, [data], [0, 1, 2])
        sock.sendall(data[sent:])
        with sock.makefile("rb") as answers:
            for line in answers:
                answer = json.loads(line)
                if "error" in answer:
                    raise ExecRejected(answer["error"])
                if "exit" in answer:
                    return int(answer["exit"])
    raise ConnectionError("the pod is gone")


def _connect(path: str) -> socket.socket:
    """Connects through the open directory: a path may be longer than a socket address."""
    directory = os.open(os.path.dirname(path) or ".", os.O_PATH | os.O_DIRECTORY)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
    except BaseException:
        sock.close()
        raise
    finally:
        os.close(directory)
    return sock


if __name__ == "__main__":
    # ticket_exec.py SOCKET COMMAND ARGUMENT…; the ticket comes in the environment: command lines are visible to all users
    sys.exit(run(sys.argv[1], os.environ.pop("TRAINCREW_TICKET"), sys.argv[2:]))
