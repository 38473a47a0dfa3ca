"""Ranks of Horovod Elastic leave a collective when the node of a peer is lost.

A peer that is silent does not end a collective before HOROVOD_GLOO_TIMEOUT_SECONDS, and that must be long, because it is also the
time that the others wait for a worker with slow imports. So the operator adds lost workers to the host list, as comments. The
remote shell of the launcher sends their addresses to the other workers, where a small program, the parent of the rank, shuts down
the connections of the rank to these addresses. Horovod then returns to the last commit and continues without the lost worker.
The remote shell of the lost worker ends, so that Horovod knows that this worker has failed.

The lost worker stays in the list until then: Horovod reports every change of the list to rank 0, and waits without a limit if
rank 0 is the lost one.
"""

from __future__ import annotations

from collections.abc import Iterable

from traincrew.model import objects

FILE = "lost_peers.py"
SEND_SECONDS = 5
PROGRAM = '''\
"""Runs a command. Lines of the standard input are addresses of lost hosts: connections to them are shut down, once a line."""
import ctypes, os, signal, socket, subprocess, sys, threading

PIDFD_OPEN, PIDFD_GETFD = 434, 438
libc = ctypes.CDLL(None, use_errno=True)

def descendants(root):
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/" + name + "/stat") as stat:
                parents[int(name)] = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            pass
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found

def shut_down(pid, number, address):
    process = libc.syscall(PIDFD_OPEN, pid, 0)
    if process < 0:
        raise OSError(ctypes.get_errno(), "pidfd_open")
    copy = libc.syscall(PIDFD_GETFD, process, number, 0)
    error = ctypes.get_errno()
    os.close(process)
    if copy < 0:
        raise OSError(error, "pidfd_getfd: " + os.strerror(error))
    with socket.socket(fileno=copy) as connection:
        if connection.getpeername()[0].replace("::ffff:", "") == address:
            connection.shutdown(socket.SHUT_RDWR)

def disconnect(root, address):
    for pid in descendants(root):
        try:
            numbers = os.listdir("/proc/%d/fd" % pid)
        except OSError:
            continue
        for number in numbers:
            try:
                if os.readlink("/proc/%d/fd/%s" % (pid, number)).startswith("socket:"):
                    shut_down(pid, int(number), address)
            except FileNotFoundError:
                pass
            except OSError as error:
                if "pidfd" in str(error):
                    print("cannot leave the collective: " + str(error), file=sys.stderr, flush=True)
                    return

def receive(root):
    done = set()
    for line in sys.stdin:
        words = line.split()
        if words and line not in done:
            done.add(line)
            disconnect(root, words[0])

child = subprocess.Popen(["/bin/sh", "-c", sys.argv[1]], stdin=subprocess.DEVNULL)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, frame: child.send_signal(number))
threading.Thread(target=receive, args=(child.pid,), daemon=True).start()
code = child.wait()
os._exit(code if code >= 0 else 128 - code)
'''


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
    run = f'[ -e {program} ] && command -v python3 > /dev/null && exec python3 {program} "$1"; exec /bin/sh -c "$1" < /dev/null'
    return [
        f"list={mount}/discover_hosts.sh",
        f"send() {{ sh -c 'echo $PPID'; while sed -n 's/^# lost: //p' $list && echo; do sleep {SEND_SECONDS}; done; }}",
        "send 2> /dev/null | {",
        "read -r send_pid",
        "exec 3<&0",  # a command in the background would read nothing
        f"{execute} -- /bin/sh -c '{run}' sh \"$*\" <&3 &",
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
