"""MPIJob v1: mpirun and horovodrun on the launcher reach workers by `kubectl exec`, which a Role of the job allows."""

from __future__ import annotations

from traincrew.kinds import hosts, pod_templates, validation_rules, violations
from traincrew.kinds.dependent import Dependent, Dependents
from traincrew.kinds.horovod import horovodrun, lost_peers, orderly_leave, worker_bounds
from traincrew.kinds.hosts import HOSTFILE, MOUNT
from traincrew.kinds.kind import CRD, JobKind, Lifecycle, PodConfig, Reporting, Validation
from traincrew.kinds.mpi import files, from_command, kubectl_delivery, launch_command, spec
from traincrew.kinds.replica import Env, Manifest, Replica, Role
from traincrew.model import jobs, naming, resources
from traincrew.model.observed import Observed

KUBEXEC = f"{MOUNT}/kubexec.sh"
_LAUNCHER_FILES = {"kubexec.sh": 0o555, "hostfile": 0o444, "discover_hosts.sh": 0o555}
_WORKER_FILES = {"kubexec.sh": 0o555}
LAUNCHER = Role("Launcher", indexed=False, computes=False)
WORKER = Role("Worker", replicas=0, prints=False)
LAUNCHER_RULES = (validation_rules.required_role("Launcher"), validation_rules.exactly_one("Launcher"))


def env(replica: Replica) -> Env:
    if replica.role.name == "Worker":
        return {}
    no_devices = {} if hosts.has_gpu_launcher(replica.job) else spec.NO_DEVICES
    return {"OMPI_MCA_plm_rsh_agent": KUBEXEC, "OMPI_MCA_orte_default_hostfile": HOSTFILE, **no_devices}


def default_env(replica: Replica) -> Env:
    if replica.role.name == "Worker":
        return {}
    return {
        "I_MPI_HYDRA_BOOTSTRAP": "rsh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": KUBEXEC,
        # Open MPI 5 reads only these names. Without them every rank would run on the launcher, without an error.
        "PRTE_MCA_plm_ssh_agent": KUBEXEC,
        "PRTE_MCA_prte_default_hostfile": HOSTFILE,
        **horovodrun.env(replica.job),
    }


def customize(pod: Manifest, replica: Replica) -> None:
    job, main = replica.job, pod["spec"]["containers"][0]
    modes = _LAUNCHER_FILES if replica.role.name == "Launcher" else _WORKER_FILES
    if replica.role.name == "Worker" and horovodrun.is_elastic(job):
        modes = {**modes, lost_peers.FILE: 0o444}
    pod_templates.mount(KIND, pod, spec.CONFIG_VOLUME, MOUNT, spec.config_volume(job, modes))
    if replica.role.name == "Worker":
        if not main.get("command"):
            main["command"], main["args"] = ["sleep"], ["365d"]
        orderly_leave.customize(pod, replica)
        return
    pod_templates.add_init_containers(KIND, pod, [kubectl_delivery.container(replica, _worker_selector(job))])
    pod_templates.mount(KIND, pod, kubectl_delivery.VOLUME, kubectl_delivery.TARGET, {"emptyDir": {}})
    if not pod["spec"].get("serviceAccount"):  # the deprecated name of the field
        pod["spec"].setdefault("serviceAccountName", hosts.launcher_name(job))


def _worker_selector(job: jobs.Job) -> str:
    return naming.selector({naming.OPERATOR_NAME: KIND.controller, naming.JOB_NAME: job.name, naming.REPLICA_TYPE: "worker"})


def dependents(job: jobs.Job, observed: Observed) -> list[Dependent]:
    name, account = {"name": hosts.launcher_name(job)}, _service_account(job)
    binding = {
        "metadata": name,
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": job.namespace}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", **name},
    }
    # A service account that the user names is not owned: other jobs may use it too.
    owned = account == hosts.launcher_name(job)
    return [
        Dependent(resources.SERVICE_ACCOUNTS, {"metadata": {"name": account}}, owned=owned, shared=True),
        spec.config_map(job, files.exec_files(job, observed)),
        Dependent(resources.ROLES, {"metadata": name, "rules": _rules(job, observed)}, reconciled_field="rules"),
        Dependent(resources.ROLE_BINDINGS, binding),
    ]


def _service_account(job: jobs.Job) -> str:
    template = job.roles["Launcher"].parsed.get("spec") or {}
    return template.get("serviceAccountName") or template.get("serviceAccount") or hosts.launcher_name(job)


def _rules(job: jobs.Job, observed: Observed) -> list[Manifest]:
    rules: list[Manifest] = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    # An empty resourceNames would allow exec into every pod of the namespace.
    if workers := [*hosts.worker_names(job), *_leaving_workers(job, observed)]:
        rules.append({"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"], "resourceNames": workers})
    return rules


def _leaving_workers(job: jobs.Job, observed: Observed) -> list[str]:
    """Workers above a lowered count whose pods exist: while they drain, the launcher may still start processes in them."""
    remaining, worker = {*hosts.worker_names(job)}, f"{job.name}-worker-"
    own = [pod for pod in observed.pods if pod.metadata.controller and pod.metadata.controller.uid == job.metadata.uid]
    names = [pod.name for pod in own if pod.name.startswith(worker) and pod.name not in remaining]
    return sorted(names, key=lambda name: (len(name), name))


KIND: JobKind = JobKind(
    kind="MPIJob",
    framework="mpi",
    modules=("horovod", "mpi4py"),
    spec=spec.Spec,
    roles=(LAUNCHER, WORKER),
    leaders=("Launcher",),
    managers=("kubeflow.org/mpi-operator", "kubeflow.org/training-operator"),
    pods=PodConfig(
        env,
        default_env=default_env,
        env_in="main",
        services=False,
        customize=customize,
        rank=hosts.rank,
        wait_containers=(kubectl_delivery.CONTAINER,),
    ),
    dependents=Dependents(
        dependents,
        (resources.SERVICE_ACCOUNTS, resources.CONFIG_MAPS, resources.ROLES, resources.ROLE_BINDINGS),
        labels=lambda job: {"app": job.name},
    ),
    lifecycle=Lifecycle(fixed_size=lambda job: False, drain_seconds=horovodrun.drain_seconds, elastic=worker_bounds.elastic),
    reporting=Reporting(
        event_conditions=("Running",),
        resource_exists='Resource "{name}" of Kind "{kind}" already exists and is not managed by MPIJob',
    ),
    validation=Validation(
        rules=(*LAUNCHER_RULES, validation_rules.at_least(0, "Worker")),
        checks=(violations.replica_specs,),
        advise=launch_command.advise,
        server_rules=False,
        strict_cases=True,
    ),
    crd=CRD(
        columns=("Age", "State"),
        short_names=("mj", "mpij"),
        scalable=True,
        selector_in_status=True,
    ),
    options=(kubectl_delivery.IMAGE,),
    from_command=from_command.from_command,
)
