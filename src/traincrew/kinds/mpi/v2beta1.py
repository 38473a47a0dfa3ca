"""MPIJob v2beta1: the launcher is a batch Job and reaches workers by SSH, with a key pair of the job."""

from __future__ import annotations

from traincrew.kinds import pod_templates
from traincrew.kinds.condition_messages import ConditionMessages
from traincrew.kinds.kind import CRD, Dependent, Dependents, JobKind, Lifecycle, Outcome, PodConfig, Reporting, Validation
from traincrew.kinds.mpi import files, launch_command, v2beta1_pods, v2beta1_validation
from traincrew.kinds.mpi.spec import MANAGERS, Spec, config_map, launcher_name, metadata, named, worker_names
from traincrew.kinds.replica import Manifest, PodsByRole, Replica, Role
from traincrew.model import jobs, naming, objects, resources
from traincrew.model.observed import Observed


def dependents(job: jobs.Job, observed: Observed) -> list[Dependent]:
    result = [_service(job, observed), config_map(job, observed, files.ssh_files(job, observed)), _secret(job, observed)]
    return result if _launcher_waits(job, observed) else [*result, _launcher(job, observed)]


def _service(job: jobs.Job, observed: Observed) -> Dependent:
    spec = {
        "clusterIP": "None",
        "selector": {naming.OPERATOR_NAME: KIND.controller, naming.JOB_NAME: job.name},
        "publishNotReadyAddresses": bool(job.spec.run_launcher_as_worker),
    }
    exists = named(observed.services, job.name) is not None
    return Dependent(resources.SERVICES, {"metadata": metadata(job, job.name), "spec": spec}, exists)


def _secret(job: jobs.Job, observed: Observed) -> Dependent:
    name = f"{job.name}-ssh"
    body = {"metadata": metadata(job, name), "type": "kubernetes.io/ssh-auth"}
    return Dependent(resources.SECRETS, body, ("secrets", name) in observed.known, generate="ssh-keypair")


def _launcher_waits(job: jobs.Job, observed: Observed) -> bool:
    """With WaitForWorkersReady the launcher is neither created nor resumed before every worker is Ready."""
    if job.spec.launcher_creation_policy != "WaitForWorkersReady" or job.suspended:
        return False
    batch_job = _batch_job(job, observed)
    if batch_job is not None and not batch_job.spec.suspend:
        return False
    ready = {pod.name for pod in observed.pods if pod.ready}
    return any(name not in ready for name in worker_names(job))


def _launcher(job: jobs.Job, observed: Observed) -> Dependent:
    replica = Replica(job, KIND.roles[0], 0, observed.planning)
    body = v2beta1_pods.launcher_job(replica, pod_templates.build(KIND, replica))
    body["metadata"] = metadata(job, launcher_name(job))
    existing = _batch_job(job, observed)
    drift: Manifest | None = None
    if existing is not None and existing.spec.suspend != job.suspended and not _finished(existing):
        drift = {"spec": {"suspend": job.suspended}}
        if not job.suspended:
            drift["spec"]["template"] = v2beta1_pods.scheduling_directives(body["spec"]["template"], existing)
    return Dependent(resources.BATCH_JOBS, body, existing is not None, drift)


def _finished(batch_job: objects.BatchJob) -> bool:
    return bool(batch_job.condition("Complete") or batch_job.condition("Failed"))


def _batch_job(job: jobs.Job, observed: Observed) -> objects.BatchJob | None:
    return next((entry for entry in observed.batch_jobs if entry.metadata.name == launcher_name(job)), None)


def running(job: jobs.Job, pods: PodsByRole, leading: object) -> bool:
    workers = sum(pod.active for pod in pods.get("Worker", ()))
    return any(pod.active for pod in pods.get("Launcher", ())) and workers >= job.count("Worker")


def outcome(job: jobs.Job, observed: Observed) -> Outcome | None:
    batch_job = _batch_job(job, observed)
    if batch_job is None:
        return None
    if batch_job.condition("Complete"):
        return Outcome(True, time=batch_job.status.completion_time)
    failed = batch_job.condition("Failed")
    if failed is None:
        return None
    reason, message = failed.reason or f"{KIND.kind}Failed", failed.message or f"{KIND.kind} {job} has failed"
    if failed.reason == "BackoffLimitExceeded":
        pod = _last_failed_pod(batch_job, observed)
        if pod is not None and pod.status.reason:
            reason, message = f"{reason}/{pod.status.reason}", f"{message}: {pod.status.message}"[:1024]
    return Outcome(False, reason, message)


def _last_failed_pod(batch_job: objects.BatchJob, observed: Observed) -> objects.Pod | None:
    failed = [
        pod
        for pod in observed.pods
        if pod.status.phase == "Failed" and pod.metadata.controller and pod.metadata.controller.uid == batch_job.metadata.uid
    ]
    return max(failed, key=lambda pod: (str(pod.metadata.creation_timestamp), pod.name), default=None)


MESSAGES = ConditionMessages(
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
    framework="mpi",
    version="v2beta1",
    operator_name="mpi-operator",
    spec=Spec,
    roles=(
        Role("Launcher", restart_policy="OnFailure", indexed=False, delegated=True),
        Role("Worker", replicas=0),
    ),
    leaders=("Launcher",),
    managers=MANAGERS,
    pods=PodConfig(
        v2beta1_pods.env,
        env_in="main",
        services=False,
        customize=v2beta1_pods.customize,
        labels=v2beta1_pods.labels,
    ),
    dependents=Dependents(
        dependents,
        (resources.SERVICES, resources.CONFIG_MAPS, resources.SECRETS, resources.BATCH_JOBS),
    ),
    lifecycle=Lifecycle(
        running=running,
        outcome=outcome,
        tolerates_failure=lambda job, role: role == "Worker",
        fixed_size=lambda job: False,
        drain_seconds=launch_command.drain_seconds,
    ),
    reporting=Reporting(
        messages=lambda job: MESSAGES,
        running_before_end=True,
        event_conditions=("Created", "Running"),
        invalid_reason="ValidationError",
    ),
    validation=Validation(
        check=v2beta1_validation.validate,
        advise=launch_command.advise,
        server_rules=False,
        strict_cases=True,
        restart_policies=("Never", "OnFailure"),
    ),
    crd=CRD(
        columns=("Age", "State"),
        scalable=True,
        # The presence of the mount path identifies a v2beta1 job, whichever version it is read through.
        version_schema={
            "slotsPerWorker": {"default": 1},
            "sshAuthMountPath": {"default": "/root/.ssh"},
            "launcherCreationPolicy": {"default": "AtStartup"},
            "mpiImplementation": {"default": "OpenMPI", "enum": ["OpenMPI", "Intel", "MPICH"]},
            "runLauncherAsWorker": {"default": False},
        },
    ),
)
