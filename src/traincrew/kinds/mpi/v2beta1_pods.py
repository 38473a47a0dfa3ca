"""The pods of a v2beta1 MPIJob: workers that run sshd, and a launcher with the key to them."""

from __future__ import annotations

from traincrew.kinds import hosts, pod_templates
from traincrew.kinds.horovod import horovodrun, orderly_leave
from traincrew.kinds.kind import JobKind
from traincrew.kinds.mpi import implementations, spec, worker_wait
from traincrew.kinds.replica import Env, Manifest, Replica
from traincrew.model import jobs, naming

SSH_PATH = "/root/.ssh"
_KEYS = (("ssh-privatekey", "id_rsa"), ("ssh-publickey", "id_rsa.pub"), ("ssh-publickey", "authorized_keys"))
_LAUNCHER_FILES = {"hostfile": 0o444, "discover_hosts.sh": 0o555}


def env(replica: Replica) -> Env:
    role = {"K_MPI_JOB_ROLE": replica.role.label}
    if replica.role.name == "Worker":
        return role
    implementation = implementations.of(replica.job)
    slots = {implementation.slots_variable: hosts.slots(replica.job)} if implementation.slots_variable else {}
    no_devices = {} if replica.job.spec.run_launcher_as_worker else spec.NO_DEVICES
    return {**role, **implementation.env, **slots, **no_devices}


def default_env(replica: Replica) -> Env:
    if replica.role.name == "Worker":
        return {}
    return {**implementations.of(replica.job).default_env, **horovodrun.env(replica.job)}


def labels(kind: JobKind, replica: Replica) -> dict[str, str]:
    labels = {
        naming.OPERATOR_NAME: kind.controller,
        naming.JOB_NAME: replica.job.name,
        naming.JOB_ROLE: replica.role.label,
    }
    launcher_works = bool(replica.job.spec.run_launcher_as_worker)
    if replica.role.name == "Worker":
        labels[naming.REPLICA_INDEX] = str(replica.index + launcher_works)
    elif launcher_works:
        labels[naming.REPLICA_INDEX] = "0"
    return labels


def customize(kind: JobKind, pod: Manifest, replica: Replica) -> None:
    job, pod_spec, main = replica.job, pod["spec"], pod["spec"]["containers"][0]
    pod_spec["hostname"], pod_spec["subdomain"] = replica.name, job.name
    if pod_spec.get("hostNetwork"):
        pod_spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    pod_templates.mount(kind, pod, "ssh-auth", job.spec.ssh_auth_mount_path or SSH_PATH, _keys(job))
    if replica.role.name == "Launcher":
        pod_templates.mount(kind, pod, spec.CONFIG_VOLUME, hosts.MOUNT, spec.config_volume(job, _LAUNCHER_FILES))
        if (waiting := worker_wait.container(replica)) is not None:
            pod_templates.add_init_containers(kind, pod, [waiting])
        return
    if not main.get("command") and not main.get("args"):
        main["command"] = ["/usr/sbin/sshd", "-De"]
    orderly_leave.customize(pod, replica)
    domain = replica.planning.cluster_domain or "cluster.local"
    pod_spec.setdefault("dnsConfig", {}).setdefault("searches", []).append(f"{job.name}.{job.namespace}.svc.{domain}")


def secret_name(job: jobs.Job) -> str:
    return f"{job.name}-ssh"


def _keys(job: jobs.Job) -> Manifest:
    secret: Manifest = {"secretName": secret_name(job), "items": [{"key": key, "path": path} for key, path in _KEYS]}
    if (job.spec.ssh_auth_mount_path or SSH_PATH) == SSH_PATH:
        secret["defaultMode"] = 0o600  # sshd rejects keys that others can read; at other paths users set the modes themselves
    return {"secret": secret}
