"""MPIJob v1: mpirun and horovodrun on the launcher reach workers by `kubectl exec`, which a Role of the job allows."""

from __future__ import annotations

from collections.abc import Iterator

from traincrew.kinds import pod_templates
from traincrew.kinds.kind import (
    CRD,
    Dependent,
    Dependents,
    JobKind,
    Lifecycle,
    PodConfig,
    Reporting,
    Validation,
    Violation,
    unenforced,
)
from traincrew.kinds.mpi import files, kubectl_delivery, launch_command
from traincrew.kinds.mpi.spec import (
    MANAGERS,
    MOUNT,
    Spec,
    config_map,
    env_unless_set,
    gpu_launcher,
    launcher_name,
    metadata,
    mount_config,
    named,
    worker_names,
)
from traincrew.kinds.replica import Manifest, Replica, Role, env_var
from traincrew.model import jobs, naming, resources, suggestions
from traincrew.model.observed import Observed

KUBEXEC = f"{MOUNT}/kubexec.sh"


def env(replica: Replica) -> list[Manifest]:
    if replica.role.name == "Worker":
        return []
    variables = [
        env_var("OMPI_MCA_plm_rsh_agent", KUBEXEC),
        env_var("OMPI_MCA_orte_default_hostfile", f"{MOUNT}/hostfile"),
    ]
    if not gpu_launcher(replica.job):
        # The launcher must not see the devices of a worker on the same node.
        variables += [env_var("NVIDIA_VISIBLE_DEVICES", ""), env_var("NVIDIA_DRIVER_CAPABILITIES", "")]
    optional = {
        "I_MPI_HYDRA_BOOTSTRAP": "rsh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": KUBEXEC,
        # Open MPI 5 reads only these names. Without them every rank would run on the launcher, without an error.
        "PRTE_MCA_plm_ssh_agent": KUBEXEC,
        "PRTE_MCA_prte_default_hostfile": f"{MOUNT}/hostfile",
        **launch_command.elastic_env(replica.job),
    }
    return variables + env_unless_set(replica, optional)


def customize(pod: Manifest, replica: Replica) -> None:
    main = pod["spec"]["containers"][0]
    if replica.role.name == "Launcher":
        mount_config(pod, replica.job, {"kubexec.sh": 0o555, "hostfile": 0o444, "discover_hosts.sh": 0o555})
        _deliver_kubectl(pod, replica)
        return
    mount_config(pod, replica.job, {"kubexec.sh": 0o555})
    if not main.get("command"):
        main["command"], main["args"] = ["sleep"], ["365d"]


def _deliver_kubectl(pod: Manifest, replica: Replica) -> None:
    spec = pod["spec"]
    workers = naming.selector(_labels(replica.job, "worker"))
    pod_templates.add_init_containers(KIND, pod, [kubectl_delivery.container(replica, workers)])
    spec["volumes"].append({"name": kubectl_delivery.VOLUME, "emptyDir": {}})
    spec["containers"][0]["volumeMounts"].append({"name": kubectl_delivery.VOLUME, "mountPath": kubectl_delivery.TARGET})
    if not spec.get("serviceAccount"):  # the deprecated name of the field
        spec.setdefault("serviceAccountName", launcher_name(replica.job))


def labels(replica: Replica) -> dict[str, str]:
    common = _labels(replica.job, replica.role.label)
    if replica.role.name == "Launcher":
        return {**common, naming.JOB_ROLE: "master"}
    return {**common, naming.REPLICA_INDEX: str(replica.index)}


def _labels(job: jobs.Job, role: str) -> dict[str, str]:
    return {naming.OPERATOR_NAME: KIND.controller, naming.JOB_NAME: job.name, naming.REPLICA_TYPE: role}


def _service_account(job: jobs.Job, observed: Observed) -> Dependent:
    name = service_account_name(job)
    exists = named(observed.service_accounts, name) is not None or ("serviceaccounts", name) in observed.known
    # A service account that the user names is not owned: other jobs may use it too.
    owned = name == launcher_name(job)
    return Dependent(resources.SERVICE_ACCOUNTS, {"metadata": metadata(job, name)}, exists, owned=owned, shared=True)


def service_account_name(job: jobs.Job) -> str:
    template = job.roles["Launcher"].parsed.get("spec") or {}
    return template.get("serviceAccountName") or template.get("serviceAccount") or launcher_name(job)


def _role(job: jobs.Job, observed: Observed) -> Dependent:
    name = launcher_name(job)
    rules: list[Manifest] = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    if workers := worker_names(job):  # an empty resourceNames would allow exec into every pod of the namespace
        rules.append({"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"], "resourceNames": workers})
    existing = named(observed.roles, name)
    drift = {"rules": rules} if existing and existing.rules != rules else None
    return Dependent(resources.ROLES, {"metadata": metadata(job, name), "rules": rules}, existing is not None, drift)


def _role_binding(job: jobs.Job, observed: Observed) -> Dependent:
    name = launcher_name(job)
    body = {
        "metadata": metadata(job, name),
        "subjects": [{"kind": "ServiceAccount", "name": service_account_name(job), "namespace": job.namespace}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
    }
    return Dependent(resources.ROLE_BINDINGS, body, named(observed.role_bindings, name) is not None)


def validate(job: jobs.Job) -> list[Violation]:
    specs = job.spec.replica_specs
    path = "spec.mpiReplicaSpecs"
    if not specs:
        return [unenforced(path, "MPIReplicaSpecs is not valid")]
    violations = [violation for key, spec in specs.items() for violation in _validate_role(f"{path}[{key}]", key, spec)]
    if "Launcher" not in job.roles:
        violations.append(unenforced(path, "MPIReplicaSpecs is not valid: Master ReplicaSpec must be present (a Launcher)"))
    elif job.roles["Launcher"].replicas != 1:
        message = "MPIReplicaSpecs is not valid: There must be only 1 launcher replica"
        violations.append(unenforced(f"{path}[Launcher].replicas", message))
    if "Worker" in job.roles and job.roles["Worker"].replicas < 0:
        violations.append(unenforced(f"{path}[Worker].replicas", f"must be at least 0, got {job.roles['Worker'].replicas}"))
    return violations


def _validate_role(path: str, key: str, spec: jobs.ReplicaSpec | None) -> Iterator[Violation]:
    if key not in ("Launcher", "Worker"):
        known = f"one of [Launcher Worker]{suggestions.did_you_mean(key, ('Launcher', 'Worker'))}"
        yield unenforced(path, f"MPIReplicaType is {key} but must be {known}")
    containers = jobs.RoleSpec("", 0, "", spec.template).containers if spec else []
    if not containers:
        yield unenforced(path, f"MPIReplicaSpecs is not valid: containers definition expected in {key}")
    if any(not container.get("image") for container in containers):
        yield unenforced(path, f"MPIReplicaSpecs is not valid: Image is undefined in the container of {key}")


KIND: JobKind = JobKind(
    kind="MPIJob",
    framework="mpi",
    spec=Spec,
    roles=(Role("Launcher", indexed=False), Role("Worker", replicas=0)),
    leaders=("Launcher",),
    managers=MANAGERS,
    pods=PodConfig(
        env,
        env_in="main",
        services=False,
        customize=customize,
        labels=labels,
        wait_containers=(kubectl_delivery.CONTAINER,),
    ),
    dependents=Dependents(
        lambda job, observed: [
            _service_account(job, observed),
            config_map(job, observed, files.exec_files(job, observed)),
            _role(job, observed),
            _role_binding(job, observed),
        ],
        (resources.SERVICE_ACCOUNTS, resources.CONFIG_MAPS, resources.ROLES, resources.ROLE_BINDINGS),
    ),
    lifecycle=Lifecycle(fixed_size=lambda job: False, drain_seconds=launch_command.drain_seconds),
    reporting=Reporting(event_conditions=("Running",), invalid_reason="MPIJobFailedValidation"),
    validation=Validation(check=validate, advise=launch_command.advise, server_rules=False, strict_cases=True),
    crd=CRD(columns=("Age", "State"), short_names=("mj", "mpij"), scalable=True),
    options=(kubectl_delivery.IMAGE,),
    from_command=launch_command.from_command,
)
