"""The pods of a v2beta1 MPIJob: workers that run sshd, and the launcher's batch Job."""

from __future__ import annotations

from typing import Any

from traincrew.kinds.kind import Manifest, Replica, var
from traincrew.kinds.mpi import elastic
from traincrew.kinds.mpi.spec import CONFIG_VOLUME, MOUNT, launcher_name, slots
from traincrew.model import naming, objects

_SSH_ARGS = "-o ConnectionAttempts=10"
_HOSTFILE = f"{MOUNT}/hostfile"


def env(replica: Replica) -> list[Manifest]:
    role = var("K_MPI_JOB_ROLE", replica.role.label)
    if replica.role.name == "Worker":
        return [role]
    spec = replica.job.spec
    found = [role, *_implementation(spec.mpi_implementation or "OpenMPI", slots(replica.job))]
    found += [var(name, value) for name, value in _optional(replica).items() if name not in _taken(replica)]
    if not spec.run_launcher_as_worker:
        found += [var("NVIDIA_VISIBLE_DEVICES", ""), var("NVIDIA_DRIVER_CAPABILITIES", "")]
    return found


def _implementation(name: str, count: int) -> list[Manifest]:
    if name == "Intel":
        return [
            var("I_MPI_HYDRA_HOST_FILE", _HOSTFILE),
            var("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", _SSH_ARGS),
            var("I_MPI_PERHOST", count),
        ]
    if name == "MPICH":
        return [var("HYDRA_HOST_FILE", _HOSTFILE), var("HYDRA_LAUNCH_EXTRA_ARGS", _SSH_ARGS)]
    return [
        var("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        var("OMPI_MCA_orte_default_hostfile", _HOSTFILE),
        var("OMPI_MCA_plm_rsh_args", _SSH_ARGS),
        var("OMPI_MCA_orte_set_default_slots", count),
    ]


def _optional(replica: Replica) -> dict[str, str]:
    found = elastic.variables(replica.job)
    if (replica.job.spec.mpi_implementation or "OpenMPI") != "OpenMPI":
        return found
    # Open MPI 5 reads these names only; without them every rank would quietly run on the launcher.
    return {"PRTE_MCA_prte_default_hostfile": _HOSTFILE, "PRTE_MCA_plm_ssh_args": _SSH_ARGS, **found}


def _taken(replica: Replica) -> set[str | None]:
    """What the user has set."""
    first = next(iter(replica.job.roles[replica.role.name].containers), {})
    return {entry.get("name") for entry in first.get("env") or []}


def labels(replica: Replica) -> dict[str, str]:
    job = replica.job
    shift = 1 if job.spec.run_launcher_as_worker else 0
    found = {
        naming.OPERATOR_NAME: "mpi-operator",
        naming.JOB_NAME: job.name,
        naming.JOB_ROLE: replica.role.label,
    }
    if replica.role.name == "Worker":
        found[naming.REPLICA_INDEX] = str(replica.index + shift)
    elif shift:
        found[naming.REPLICA_INDEX] = "0"
    return found


def adorn(pod: Manifest, replica: Replica) -> None:
    spec = pod["spec"]
    main = spec["containers"][0]
    job = replica.job
    spec["hostname"] = replica.name
    spec["subdomain"] = job.name
    if spec.get("hostNetwork"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    _mount_keys(spec, main, replica)
    if replica.role.name == "Launcher":
        _mount_config(spec, main, replica)
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
        secret["defaultMode"] = 0o600  # sshd refuses keys that others may read; elsewhere users fix modes themselves
    spec.setdefault("volumes", []).append({"name": "ssh-auth", "secret": secret})
    main.setdefault("volumeMounts", []).append({"name": "ssh-auth", "mountPath": path})


def _mount_config(spec: Manifest, main: Manifest, replica: Replica) -> None:
    items = [
        {"key": "hostfile", "path": "hostfile", "mode": 0o444},
        {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 0o555},
    ]
    config = {"name": f"{replica.job.name}-config", "items": items}
    spec["volumes"].append({"name": CONFIG_VOLUME, "configMap": config})
    main["volumeMounts"].append({"name": CONFIG_VOLUME, "mountPath": MOUNT})


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


def scheduling_directives(template: Manifest, found: objects.BatchJob) -> Manifest:
    """What a queueing system may have changed while the job was suspended, and a suspended Job lets us change.

    A merge patch: what the Job still has of an earlier admission is null. Its labels are not all ours, so none is removed.
    """
    spec, meta = template.get("spec") or {}, template.get("metadata") or {}
    selector = spec.get("nodeSelector") or {}
    gone = sorted(found.spec.template.spec.node_selector.keys() - selector.keys())
    return {
        "metadata": {key: meta[key] for key in ("labels", "annotations") if key in meta},
        "spec": {
            "nodeSelector": {**dict.fromkeys(gone), **selector},
            **{key: spec.get(key) for key in ("tolerations", "schedulingGates")},
        },
    }
