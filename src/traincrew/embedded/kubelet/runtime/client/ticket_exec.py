"""A command in a container by leave of the API server, straight to the pod's shim: no daemon is in between.

Stands alone: this file, as it is, can be handed into a pod.
"""

from __future__ import annotations

import json
import os
import socket
import sys


class ExecRejected(Exception):
    """The command was not started."""


def run(door: str, secret: str, argv: list[str], env: dict[str, str] | None = None) -> int:
    """The exit code of the command, which has this process's standard input, output and error.

    It is killed when this process ends. ConnectionError: the pod is gone.
    """
    with _connected(door) as sock:
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


def _connected(door: str) -> socket.socket:
    """A path may be longer than a socket's address: so by way of its directory."""
    place = os.open(os.path.dirname(door) or ".", os.O_PATH | os.O_DIRECTORY)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(f"/proc/self/fd/{place}/{os.path.basename(door)}")
    except BaseException:
        sock.close()
        raise
    finally:
        os.close(place)
    return sock


if __name__ == "__main__":
    # direct.py DOOR COMMAND ARGUMENT…; the secret comes in the environment, where it shows in no list of processes
    sys.exit(run(sys.argv[1], os.environ.pop("TRAINCREW_TICKET"), sys.argv[2:]))
