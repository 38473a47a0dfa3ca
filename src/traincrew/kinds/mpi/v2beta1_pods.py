"""The pods of a v2beta1 MPIJob: workers that run sshd, and the launcher's batch Job."""

from __future__ import annotations

from typing import Any

from traincrew.kinds.mpi import launch_command
from traincrew.kinds.mpi.spec import MOUNT, env_unless_set, launcher_name, mount_config, slots
from traincrew.kinds.replica import Manifest, Replica, env_var
from traincrew.model import naming, objects

_SSH_ARGS = "-o ConnectionAttempts=10"
_HOSTFILE = f"{MOUNT}/hostfile"


def env(replica: Replica) -> list[Manifest]:
    role = env_var("K_MPI_JOB_ROLE", replica.role.label)
    if replica.role.name == "Worker":
        return [role]
    job = replica.job
    implementation = job.spec.mpi_implementation or "OpenMPI"
    optional = launch_command.elastic_env(job)
    if implementation == "OpenMPI":
        # Open MPI 5 reads only these names. Without them every rank would run on the launcher, without an error.
        optional = {"PRTE_MCA_prte_default_hostfile": _HOSTFILE, "PRTE_MCA_plm_ssh_args": _SSH_ARGS, **optional}
    variables = [role, *_implementation(implementation, slots(job)), *env_unless_set(replica, optional)]
    if not job.spec.run_launcher_as_worker:
        variables += [env_var("NVIDIA_VISIBLE_DEVICES", ""), env_var("NVIDIA_DRIVER_CAPABILITIES", "")]
    return variables


def _implementation(name: str, count: int) -> list[Manifest]:
    if name == "Intel":
        return [
            env_var("I_MPI_HYDRA_HOST_FILE", _HOSTFILE),
            env_var("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", _SSH_ARGS),
            env_var("I_MPI_PERHOST", count),
        ]
    if name == "MPICH":
        return [env_var("HYDRA_HOST_FILE", _HOSTFILE), env_var("HYDRA_LAUNCH_EXTRA_ARGS", _SSH_ARGS)]
    return [
        env_var("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        env_var("OMPI_MCA_orte_default_hostfile", _HOSTFILE),
        env_var("OMPI_MCA_plm_rsh_args", _SSH_ARGS),
        env_var("OMPI_MCA_orte_set_default_slots", count),
    ]


def labels(replica: Replica) -> dict[str, str]:
    job = replica.job
    shift = 1 if job.spec.run_launcher_as_worker else 0
    labels = {
        naming.OPERATOR_NAME: "mpi-operator",
        naming.JOB_NAME: job.name,
        naming.JOB_ROLE: replica.role.label,
    }
    if replica.role.name == "Worker":
        labels[naming.REPLICA_INDEX] = str(replica.index + shift)
    elif shift:
        labels[naming.REPLICA_INDEX] = "0"
    return labels


def customize(pod: Manifest, replica: Replica) -> None:
    spec = pod["spec"]
    main = spec["containers"][0]
    job = replica.job
    spec["hostname"] = replica.name
    spec["subdomain"] = job.name
    if spec.get("hostNetwork"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    _mount_keys(spec, main, replica)
    if replica.role.name == "Launcher":
        mount_config(pod, job, {"hostfile": 0o444, "discover_hosts.sh": 0o555})
        return
    if not main.get("command") and not main.get("args"):
        main["command"] = ["/usr/sbin/sshd", "-De"]
    domain = replica.planning.cluster_domain or "cluster.local"
    searches = spec.setdefault("dnsConfig", {}).setdefault("searches", [])
    searches.append(f"{job.name}.{job.namespace}.svc.{domain}")


def _mount_keys(spec: Manifest, main: Manifest, replica: Replica) -> None:
    path = replica.job.spec.ssh_auth_mount_path or "/root/.ssh"
    items = [
        {"key": "ssh-privatekey", "path": "id_rsa"},
        {"key": "ssh-publickey", "path": "id_rsa.pub"},
        {"key": "ssh-publickey", "path": "authorized_keys"},
    ]
    secret: Manifest = {"secretName": f"{replica.job.name}-ssh", "items": items}
    if path == "/root/.ssh":
        secret["defaultMode"] = 0o600  # sshd rejects keys that others can read; at other paths users set the modes themselves
    spec.setdefault("volumes", []).append({"name": "ssh-auth", "secret": secret})
    main.setdefault("volumeMounts", []).append({"name": "ssh-auth", "mountPath": path})


def launcher_job(replica: Replica, template: Manifest) -> Manifest:
    policy = replica.job.policy
    limits = {
        "ttlSecondsAfterFinished": policy.ttl_seconds_after_finished,
        "activeDeadlineSeconds": policy.active_deadline_seconds,
        "backoffLimit": policy.backoff_limit,
    }
    spec: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    spec["podReplacementPolicy"] = "Failed"
    if replica.job.suspended:
        spec["suspend"] = True
    spec["template"] = template
    return {"metadata": {"name": launcher_name(replica.job)}, "spec": spec}


def scheduling_directives(template: Manifest, existing: objects.BatchJob) -> Manifest:
    """The fields of a suspended Job that a queueing system may have changed and that may be updated.

    The result is a merge patch: a node selector that is left over from an earlier admission becomes null. Labels are never
    removed, since some of them belong to other controllers.
    """
    spec, meta = template.get("spec") or {}, template.get("metadata") or {}
    selector = spec.get("nodeSelector") or {}
    stale = sorted(existing.spec.template.spec.node_selector.keys() - selector.keys())
    return {
        "metadata": {key: meta[key] for key in ("labels", "annotations") if key in meta},
        "spec": {
            "nodeSelector": {**dict.fromkeys(stale), **selector},
            **{key: spec.get(key) for key in ("tolerations", "schedulingGates")},
        },
    }
