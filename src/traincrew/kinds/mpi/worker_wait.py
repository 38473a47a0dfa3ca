"""The init container of a v2beta1 launcher: it waits until the names of the workers resolve and their sshd listens.

ssh retries a refused connection (`ConnectionAttempts`), but not a name that does not resolve yet: without the wait, launchers
that start before their workers fail.
"""

from __future__ import annotations

import re

from traincrew.kinds import container_commands, hosts
from traincrew.kinds.horovod import horovodrun
from traincrew.kinds.mpi import spec
from traincrew.kinds.replica import Manifest, Replica
from traincrew.model import jobs

CONTAINER = "wait-for-workers"
USUAL_PORTS = (22, 2222)
"""The port of sshd as root, and that of the Go MPI operator's base images, which run sshd as an ordinary user."""
_PORT_OPTION = re.compile(r"(?:^|\s)-p\s*(\d{1,5})\b|\bPort[= ]\s*(\d{1,5})\b")


def container(replica: Replica) -> Manifest | None:
    """None: there are no workers, or no image that can wait."""
    job, image = replica.job, replica.planning.init_image
    if not image or not hosts.worker_names(job):
        return None
    command = ["traincrew-wait", f"--hosts-file={hosts.HOSTFILE}", f"--prefix={job.name}-worker-"]
    command.append(f"--ports={','.join(map(str, ssh_ports(job)))}")
    if (minimum := horovodrun.minimum_workers(job)) is not None:
        command.append(f"--count={minimum}")
    resources = {"cpu": "100m", "memory": "64Mi"}
    return {
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        "volumeMounts": [{"name": spec.CONFIG_VOLUME, "mountPath": hosts.MOUNT}],
        # Equal requests and limits: a launcher of quality of service class Guaranteed remains one.
        "resources": {"requests": dict(resources), "limits": dict(resources)},
    }


def ssh_ports(job: jobs.Job) -> list[int]:
    """The ports at which the sshd of a worker may listen: as its command or its readiness probe says, else the usual ones."""
    main = job.roles["Worker"].containers[0]
    if found := _PORT_OPTION.search(" ".join(container_commands.words([main]))):
        return [int(found[1] or found[2])]
    declared = [port for port in main.get("ports") or [] if isinstance(port.get("containerPort"), int)]
    probe = ((main.get("readinessProbe") or {}).get("tcpSocket") or {}).get("port")
    if isinstance(probe, str):
        probe = next((port["containerPort"] for port in declared if port.get("name") == probe), None)
    if isinstance(probe, int):
        return [probe]
    return list(dict.fromkeys([*USUAL_PORTS, *(port["containerPort"] for port in declared)]))
