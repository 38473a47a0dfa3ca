"""MPIJob v1: mpirun and horovodrun on the launcher reach workers through `kubectl exec`, allowed by a Role of the job's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from traincrew.kinds.kind import Desired, Fault, JobKind, Manifest, Replica, Role, var
from traincrew.kinds.mpi import advice, elastic, files, job_from_command
from traincrew.kinds.mpi.kubectl_delivery import delivery
from traincrew.kinds.mpi.spec import CONFIG_VOLUME, MOUNT, Spec, find_config, launcher_name, worker_names
from traincrew.model import jobs, naming, resources, suggestions
from traincrew.model.observed import Observed

KUBEXEC = f"{MOUNT}/kubexec.sh"


def env(replica: Replica) -> list[Manifest]:
    if replica.role.name == "Worker":
        return []
    taken = {entry.get("name") for entry in _first(replica).get("env") or []}
    found = [
        var("OMPI_MCA_plm_rsh_agent", KUBEXEC),
        var("OMPI_MCA_orte_default_hostfile", f"{MOUNT}/hostfile"),
    ]
    if not files.gpu_launcher(replica.job):
        # The launcher must not see the devices of the node it happens to share with a worker.
        found += [var("NVIDIA_VISIBLE_DEVICES", ""), var("NVIDIA_DRIVER_CAPABILITIES", "")]
    optional = {
        "I_MPI_HYDRA_BOOTSTRAP": "rsh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": KUBEXEC,
        # Open MPI 5 reads these names only; without them every rank would quietly run on the launcher.
        "PRTE_MCA_plm_ssh_agent": KUBEXEC,
        "PRTE_MCA_prte_default_hostfile": f"{MOUNT}/hostfile",
        **elastic.variables(replica.job),
    }
    return found + [var(name, value) for name, value in optional.items() if name not in taken]


def _first(replica: Replica) -> dict[str, Any]:
    return next(iter(replica.job.roles[replica.role.name].containers), {})


def adorn(pod: Manifest, replica: Replica) -> None:
    spec = pod["spec"]
    main = spec["containers"][0]
    launcher = replica.role.name == "Launcher"
    modes = {"kubexec.sh": 0o555, "hostfile": 0o444, "discover_hosts.sh": 0o555} if launcher else {"kubexec.sh": 0o555}
    items = [{"key": key, "path": key, "mode": mode} for key, mode in modes.items()]
    config = {"name": f"{replica.job.name}-config", "items": items}
    spec.setdefault("volumes", []).append({"name": CONFIG_VOLUME, "configMap": config})
    main.setdefault("volumeMounts", []).append({"name": CONFIG_VOLUME, "mountPath": MOUNT})
    if launcher:
        delivery(pod, replica, naming.selector(_labels(replica.job, "worker")))
    elif not main.get("command"):
        main["command"], main["args"] = ["sleep"], ["365d"]


def labels(replica: Replica) -> dict[str, str]:
    found = _labels(replica.job, replica.role.label)
    if replica.role.name == "Launcher":
        return {**found, naming.JOB_ROLE: "master"}
    return {**found, naming.REPLICA_INDEX: str(replica.index)}


def _labels(job: jobs.Job, role: str) -> dict[str, str]:
    return {naming.OPERATOR_NAME: KIND.controller, naming.JOB_NAME: job.name, naming.REPLICA_TYPE: role}


def extras(job: jobs.Job, observed: Observed) -> list[Desired]:
    return [_account(job, observed), _config(job, observed), _role(job, observed), _binding(job, observed)]


def _account(job: jobs.Job, observed: Observed) -> Desired:
    name = account_name(job)
    own = name == launcher_name(job)
    exists = _named(observed.service_accounts, name) or ("serviceaccounts", name) in observed.known
    # A user's own account outlives the job: it may serve others.
    return Desired(resources.SERVICE_ACCOUNTS, {"metadata": _meta(job, name)}, exists, owned=own, shared=True)


def account_name(job: jobs.Job) -> str:
    template = job.roles["Launcher"].parsed.get("spec") or {}
    return template.get("serviceAccountName") or template.get("serviceAccount") or launcher_name(job)


def _config(job: jobs.Job, observed: Observed) -> Desired:
    data = files.exec_files(job, observed)
    found = find_config(job, observed)
    drift = {"data": data} if found and found.data != data else None
    body = {"metadata": _meta(job, f"{job.name}-config"), "data": data}
    return Desired(resources.CONFIG_MAPS, body, found is not None, drift)


def _role(job: jobs.Job, observed: Observed) -> Desired:
    name = launcher_name(job)
    rules: list[Manifest] = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    if worker_names(job):  # an empty resourceNames would allow exec into every pod of the namespace
        exec_rule = {
            "apiGroups": [""],
            "resources": ["pods/exec"],
            "verbs": ["create"],
            "resourceNames": worker_names(job),
        }
        rules.append(exec_rule)
    found = next((role for role in observed.roles if role.metadata.name == name), None)
    drift = {"rules": rules} if found and found.rules != rules else None
    return Desired(resources.ROLES, {"metadata": _meta(job, name), "rules": rules}, found is not None, drift)


def _binding(job: jobs.Job, observed: Observed) -> Desired:
    name = launcher_name(job)
    body = {
        "metadata": _meta(job, name),
        "subjects": [{"kind": "ServiceAccount", "name": account_name(job), "namespace": job.namespace}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
    }
    return Desired(resources.ROLE_BINDINGS, body, _named(observed.role_bindings, name))


def _meta(job: jobs.Job, name: str) -> Manifest:
    return {"name": name, "labels": {"app": job.name}}


def _named(found: Sequence[Any], name: str) -> bool:
    return any(entry.metadata.name == name for entry in found)


def validate(job: jobs.Job) -> list[Fault]:
    specs = job.spec.replica_specs
    path = "spec.mpiReplicaSpecs"
    if not specs:
        return [_fault(path, "MPIReplicaSpecs is not valid")]
    found = []
    for key, spec in specs.items():
        if key not in ("Launcher", "Worker"):
            known = f"one of [Launcher Worker]{suggestions.did_you_mean(key, ('Launcher', 'Worker'))}"
            found.append(_fault(f"{path}[{key}]", f"MPIReplicaType is {key} but must be {known}"))
        containers = jobs.RoleSpec("", 0, "", spec.template).containers if spec else []
        if not containers:
            found.append(_fault(f"{path}[{key}]", f"MPIReplicaSpecs is not valid: containers definition expected in {key}"))
        if any(not container.get("image") for container in containers):
            message = f"MPIReplicaSpecs is not valid: Image is undefined in the container of {key}"
            found.append(_fault(f"{path}[{key}]", message))
    if "Launcher" not in job.roles:
        found.append(_fault(path, "MPIReplicaSpecs is not valid: Master ReplicaSpec must be present (a Launcher)"))
    elif job.roles["Launcher"].replicas != 1:
        found.append(
            _fault(
                f"{path}[Launcher].replicas",
                "MPIReplicaSpecs is not valid: There must be only 1 launcher replica",
            )
        )
    if "Worker" in job.roles and job.roles["Worker"].replicas < 0:
        found.append(_fault(f"{path}[Worker].replicas", f"must be at least 0, got {job.roles['Worker'].replicas}"))
    return found


def _fault(path: str, message: str) -> Fault:
    return Fault(path=path, message=message, server=False)


KIND: JobKind = JobKind(
    kind="MPIJob",
    plural="mpijobs",
    framework="mpi",
    spec=Spec,
    replicas_field="mpiReplicaSpecs",
    roles=(Role("Launcher", indexed=False), Role("Worker", replicas=0)),
    leaders=("Launcher",),
    env=env,
    env_in="main",
    services=False,
    adorn=adorn,
    labels=labels,
    extras=extras,
    makes=(resources.SERVICE_ACCOUNTS, resources.CONFIG_MAPS, resources.ROLES, resources.ROLE_BINDINGS),
    validate=validate,
    advise=advice.advise,
    fixed_crew=lambda job: False,
    farewell=elastic.farewell,
    sketch=job_from_command.sketch,
    announces=("Running",),
    invalid_reason="MPIJobFailedValidation",
    server_rules=False,
    strict_cases=True,
    columns=("Age", "State"),
    short_names=("mj", "mpij"),
    scalable=True,
)
