"""Ranks of Horovod Elastic leave a collective when the node of a peer is lost.

A peer that is silent does not end a collective before HOROVOD_GLOO_TIMEOUT_SECONDS, and that must be long, because it is also the
time that the others wait for a worker with slow imports. So the operator adds lost workers to the host list, as comments. The
remote shell of the launcher sends their addresses to the other workers, where a small program, the parent of the rank, shuts down
the connections of the rank to these addresses. Horovod then returns to the last commit and continues without the lost worker.
The remote shell of the lost worker ends, so that Horovod knows that this worker has failed.

The lost worker stays in the list until then: Horovod reports every change of the list to rank 0, and waits without a limit if
rank 0 is the lost one.

The rank of a lost worker may run on. Its parent ends it when the launcher sends nothing any more.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from traincrew.model import objects

FILE = "lost_peers.py"
SEND_SECONDS = 5


@functools.cache
def program() -> str:
    """The program that is the parent of the rank. It is a file of its own, which is not imported here."""
    import importlib.resources  # few processes need the program

    return importlib.resources.files(__package__).joinpath("programs", FILE).read_text()


def listed_until_ended(pod: objects.Pod, line: str) -> str:
    """Shell code that runs the line until the remote shell of the lost pod has ended and Horovod knows it."""
    ended = f"cat {_mark(pod.metadata.uid)} 2> /dev/null || date +%s"
    return f"[ $(($({ended}) + {SEND_SECONDS})) -le $(date +%s) ] || {line}"


def _mark(uid: str) -> str:
    """A file of the launcher with the time at which the remote shell of a lost pod ended."""
    return f"/tmp/traincrew-lost-{uid}"  # noqa: S108


def comments(pods: Iterable[objects.Pod]) -> list[str]:
    """Lines of the host list. The name comes last; the UID distinguishes a pod from a later one with the same address."""
    return [f"# lost: {pod.status.pod_ip} {pod.metadata.uid} {pod.name}" for pod in pods if pod.status.pod_ip]


def remote_shell(mount: str, execute: str) -> list[str]:
    """Shell code that runs a command in the pod $POD_NAME until the pod is lost. execute: kubectl with all but the command."""
    program = f"{mount}/{FILE}"
    python = f'[ -e {program} ] && command -v python3 > /dev/null && exec python3 {program} "$1" "$2"'
    run = f'{python}; exec /bin/sh -c "$1" < /dev/null'
    return [
        f"list={mount}/discover_hosts.sh",
        f"send() {{ sh -c 'echo $PPID'; while sed -n 's/^# lost: //p' $list && echo; do sleep {SEND_SECONDS}; done; }}",
        # When this container started: another container, also of the same pod, is another launcher.
        "launcher=$(cat /proc/sys/kernel/random/boot_id)-$(sed 's/.*) //' /proc/1/stat | cut -d' ' -f20)",
        "send 2> /dev/null | {",
        "read -r send_pid",
        "exec 3<&0",  # a command in the background would read nothing
        f'{execute} -- /bin/sh -c \'{run}\' sh "$*" "$launcher" <&3 &',
        "exec_pid=$!",
        'trap "kill $exec_pid" HUP INT TERM',
        f"(while sleep {SEND_SECONDS}; do",
        'uid=$(sed -n "s/^# lost: [^ ]* \\([^ ]*\\) $POD_NAME\\$/\\1/p" $list)',
        f'[ -z "$uid" ] || {{ date +%s > {_mark("$uid")}; kill $exec_pid; }}',
        "done) > /dev/null 2>&1 &",
        "watch_pid=$!",
        "wait $exec_pid",
        "code=$?",
        "kill -s PIPE $send_pid $watch_pid 2> /dev/null",  # shells do not report this signal
        "exit $code",
        "}",
    ]
