"""MPIJob v2beta1: the launcher is a batch Job and reaches workers by SSH, with a key pair of the job's own."""

from __future__ import annotations

from typing import Any

from traincrew.kinds import pod_templates
from traincrew.kinds.condition_messages import Phrases
from traincrew.kinds.kind import Desired, Ending, Fault, JobKind, Manifest, Pods, Replica, Role
from traincrew.kinds.mpi import advice, elastic, files, v2beta1_pods
from traincrew.kinds.mpi.spec import Spec, find_config, launcher_name, worker_names
from traincrew.kinds.validation_rules import DNS_LABEL
from traincrew.model import jobs, naming, objects, resources, suggestions
from traincrew.model.observed import Observed

MANAGERS = ("kubeflow.org/mpi-operator", "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")


def extras(job: jobs.Job, observed: Observed) -> list[Desired]:
    found = [_service(job, observed), _config(job, observed), _secret(job, observed)]
    return found if _launcher_waits(job, observed) else [*found, _launcher(job, observed)]


def _service(job: jobs.Job, observed: Observed) -> Desired:
    spec = {
        "clusterIP": "None",
        "selector": {naming.OPERATOR_NAME: KIND.controller, naming.JOB_NAME: job.name},
        "publishNotReadyAddresses": bool(job.spec.run_launcher_as_worker),
    }
    exists = any(service.metadata.name == job.name for service in observed.services)
    return Desired(resources.SERVICES, {"metadata": _meta(job, job.name), "spec": spec}, exists)


def _config(job: jobs.Job, observed: Observed) -> Desired:
    data = files.ssh_files(job, observed)
    found = find_config(job, observed)
    drift = {"data": data} if found and found.data != data else None
    body = {"metadata": _meta(job, f"{job.name}-config"), "data": data}
    return Desired(resources.CONFIG_MAPS, body, found is not None, drift)


def _secret(job: jobs.Job, observed: Observed) -> Desired:
    name = f"{job.name}-ssh"
    body = {"metadata": _meta(job, name), "type": "kubernetes.io/ssh-auth"}
    return Desired(resources.SECRETS, body, ("secrets", name) in observed.known, generate="ssh-keypair")


def _launcher_waits(job: jobs.Job, observed: Observed) -> bool:
    """WaitForWorkersReady: no launcher, and none unsuspended, before every worker is Ready."""
    found = _batch_job(job, observed)
    if job.spec.launcher_creation_policy != "WaitForWorkersReady" or job.suspended:
        return False
    if found is not None and not found.spec.suspend:
        return False
    ready = {pod.name for pod in observed.pods if pod.ready}
    return any(name not in ready for name in worker_names(job))


def _launcher(job: jobs.Job, observed: Observed) -> Desired:
    replica = Replica(job, KIND.roles[0], 0, observed.planning)
    body = v2beta1_pods.launcher_job(replica, pod_templates.build(KIND, replica))
    body["metadata"] = _meta(job, launcher_name(job))
    found = _batch_job(job, observed)
    drift: Manifest | None = None
    if found is not None and found.spec.suspend != job.suspended and not _ended(found):
        drift = {"spec": {"suspend": job.suspended}}
        if not job.suspended:
            drift["spec"]["template"] = v2beta1_pods.scheduling_directives(body["spec"]["template"], found)
    return Desired(resources.BATCH_JOBS, body, found is not None, drift)


def _ended(found: objects.BatchJob) -> bool:
    return bool(found.condition("Complete") or found.condition("Failed"))


def _batch_job(job: jobs.Job, observed: Observed) -> objects.BatchJob | None:
    return next((found for found in observed.batch_jobs if found.metadata.name == launcher_name(job)), None)


def _meta(job: jobs.Job, name: str) -> Manifest:
    return {"name": name, "labels": {"app": job.name}}


def running(job: jobs.Job, crew: Pods, observed: Observed) -> bool:
    workers = sum(pod.active for pod in crew.get("Worker", ()))
    return any(pod.active for pod in crew.get("Launcher", ())) and workers >= job.count("Worker")


def ending(job: jobs.Job, observed: Observed) -> Ending | None:
    found = _batch_job(job, observed)
    if found is None:
        return None
    if found.condition("Complete"):
        return Ending(True, time=found.status.completion_time)
    failed = found.condition("Failed")
    if failed is None:
        return None
    reason, message = failed.reason or f"{KIND.kind}Failed", failed.message or f"{KIND.kind} {job} has failed"
    if failed.reason == "BackoffLimitExceeded":
        last = _last_failed(found, observed)
        if last is not None and last.status.reason:
            reason, message = f"{reason}/{last.status.reason}", f"{message}: {last.status.message}"[:1024]
    return Ending(False, reason, message)


def _last_failed(found: objects.BatchJob, observed: Observed) -> objects.Pod | None:
    failed = [
        pod
        for pod in observed.pods
        if pod.status.phase == "Failed" and pod.metadata.controller and pod.metadata.controller.uid == found.metadata.uid
    ]
    return max(failed, key=lambda pod: (str(pod.metadata.creation_timestamp), pod.name), default=None)


def validate(job: jobs.Job) -> list[Fault]:
    path = "spec.mpiReplicaSpecs"
    specs = job.spec.replica_specs
    if not specs:
        return [_fault(path, "must have replica specs")]
    found = [fault for key, spec in specs.items() for fault in _check_role(f"{path}[{key}]", key, spec)]
    if not specs.get("Launcher"):
        found.append(_fault(f"{path}[Launcher]", "must have Launcher replica spec"))
    last = naming.replica(job.name, "worker", max(job.count("Worker") - 1, 0))
    if len(last) > 63 or not DNS_LABEL.fullmatch(last):
        message = f"will not able to create pod and service with invalid DNS label {last!r}: shorten or mend the name"
        found.append(_fault("metadata.name", message))
    return found + _check_spec(job.spec, job.policy)


def _check_role(path: str, key: str, spec: jobs.ReplicaSpec | None) -> list[Fault]:
    if key not in ("Launcher", "Worker"):
        meant = suggestions.did_you_mean(key, ("Launcher", "Worker"))
        return [_fault(path, f"unsupported replica type {key!r}, must be Launcher or Worker{meant}")]
    if spec is None:
        return [_fault(path, "must be specified, got null")]
    found = []
    if spec.replicas is None and key == "Worker":
        found.append(_fault(f"{path}.replicas", "must define number of replicas"))
    elif key == "Launcher" and spec.replicas not in (None, 1):
        found.append(_fault(f"{path}.replicas", f"must be 1, got {spec.replicas}"))
    elif key == "Worker" and (spec.replicas or 0) < 1:
        found.append(_fault(f"{path}.replicas", f"must be greater than or equal to 1, got {spec.replicas}"))
    if not jobs.RoleSpec("", 0, "", spec.template).containers:
        found.append(_fault(f"{path}.template.spec.containers", "must define at least one container"))
    return found


def _check_spec(spec: Any, policy: jobs.RunPolicy) -> list[Fault]:
    found = []
    if (spec.slots_per_worker or 0) < 0:
        found.append(_fault("spec.slotsPerWorker", f"must be greater than or equal to 0, got {spec.slots_per_worker}"))
    if spec.ssh_auth_mount_path == "":
        found.append(_fault("spec.sshAuthMountPath", "must have a mount path for SSH credentials"))
    if spec.mpi_implementation not in (None, "OpenMPI", "Intel", "MPICH"):
        message = f"unsupported value {spec.mpi_implementation!r}, must be OpenMPI, Intel or MPICH"
        found.append(_fault("spec.mpiImplementation", message))
    if policy.clean_pod_policy not in (None, "None", "Running", "All"):
        message = f"unsupported value {policy.clean_pod_policy!r}, must be None, Running or All"
        found.append(_fault("spec.runPolicy.cleanPodPolicy", message))
    if policy.managed_by is not None and policy.managed_by not in MANAGERS:
        message = f"unsupported value {policy.managed_by!r}, must be one of {', '.join(MANAGERS)}"
        found.append(_fault("spec.runPolicy.managedBy", message))
    for field in ("ttl_seconds_after_finished", "active_deadline_seconds", "backoff_limit"):
        if (getattr(policy, field) or 0) < 0:
            name = {"ttl_seconds_after_finished": "ttlSecondsAfterFinished", "backoff_limit": "backoffLimit"}
            path = f"spec.runPolicy.{name.get(field, 'activeDeadlineSeconds')}"
            found.append(_fault(path, f"must be greater than or equal to 0, got {getattr(policy, field)}"))
    return found


def _fault(path: str, message: str) -> Fault:
    return Fault(path=path, message=message, server=False)


PHRASES = Phrases(
    created="{kind} {namespace}/{name} is created.",
    running="{kind} {namespace}/{name} is running.",
    unseen="{kind} {namespace}/{name} is finished but Running condition was never set.",
    suspended="{kind} suspended",
    paused="{kind} {namespace}/{name} is suspended.",
    resumed="{kind} resumed",
    succeeded="{kind} {namespace}/{name} successfully completed.",
)

KIND: JobKind = JobKind(
    kind="MPIJob",
    plural="mpijobs",
    framework="mpi",
    version="v2beta1",
    operator_name="mpi-operator",
    spec=Spec,
    replicas_field="mpiReplicaSpecs",
    roles=(
        Role("Launcher", restart_policy="OnFailure", indexed=False, delegated=True),
        Role("Worker", replicas=0),
    ),
    leaders=("Launcher",),
    env=v2beta1_pods.env,
    env_in="main",
    services=False,
    adorn=v2beta1_pods.adorn,
    labels=v2beta1_pods.labels,
    extras=extras,
    makes=(resources.SERVICES, resources.CONFIG_MAPS, resources.SECRETS, resources.BATCH_JOBS),
    validate=validate,
    advise=advice.advise,
    fixed_crew=lambda job: False,
    farewell=elastic.farewell,
    running=running,
    ending=ending,
    tolerates=lambda job, role: role == "Worker",
    phrases=lambda job: PHRASES,
    running_before_end=True,
    announces=("Created", "Running"),
    invalid_reason="ValidationError",
    server_rules=False,
    restart_policies=("Never", "OnFailure"),
    strict_cases=True,
    columns=("Age", "State"),
    scalable=True,
    # The presence of the mount path tells that a job follows this contract, whichever version it is read through.
    version_schema={
        "slotsPerWorker": {"default": 1},
        "sshAuthMountPath": {"default": "/root/.ssh"},
        "launcherCreationPolicy": {"default": "AtStartup"},
        "mpiImplementation": {"default": "OpenMPI", "enum": ["OpenMPI", "Intel", "MPICH"]},
        "runLauncherAsWorker": {"default": False},
    },
)
