"""Workers of Horovod Elastic that leave before they end: a preStop hook waits until the ring continues without them.

A terminating pod is no longer in the host list. So every deletion is orderly, also preemption, eviction and drain.
"""

from __future__ import annotations

from traincrew.kinds import elasticity
from traincrew.kinds.horovod import horovodrun
from traincrew.kinds.replica import Manifest, Replica
from traincrew.model import naming

GRACE_SECONDS = 30
"""The grace period of a pod whose template names none."""
KILL_SECONDS = 5
"""The last part of the grace period, in which the containers end."""
WORKER_COMMAND = ["sh", "-c", "trap 'exit 143' TERM; sleep 365d & wait"]
"""`sleep` as the first process of a container would ignore SIGTERM and hold the devices for the whole grace period.
A worker that is evicted must not exit with 0: it would have succeeded, and would not be replaced."""


def customize(pod: Manifest, replica: Replica) -> None:
    """Adds the hook to the worker of a job whose number of workers the operator chooses."""
    if not elasticity.is_automatic(replica.job) or not horovodrun.is_elastic(replica.job):
        return
    main = pod["spec"]["containers"][0]
    if (main.get("command"), main.get("args")) == (["sleep"], ["365d"]):
        main["command"] = WORKER_COMMAND
        del main["args"]
    if "preStop" in main.get("lifecycle", {}):
        return
    grace = int(pod["spec"].get("terminationGracePeriodSeconds", GRACE_SECONDS))
    main.setdefault("lifecycle", {})["preStop"] = {"exec": {"command": ["sh", "-c", _wait(replica.name, grace - KILL_SECONDS)]}}
    pod["metadata"]["annotations"] = {**pod["metadata"].get("annotations", {}), naming.ORDERLY: "true"}


def _wait(name: str, seconds: int) -> str:
    """Horovod gives each process the name of its host, which begins with that of the pod in any case of letters."""
    running = f"grep -qsi HOROVOD_HOSTNAME={name} /proc/[0-9]*/environ"
    return f"i=0; while [ $i -lt {max(seconds, 1)} ] && {running}; do i=$((i + 1)); sleep 1; done"
