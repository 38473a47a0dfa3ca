"""MPIJob v2beta1: as v1, but the launcher is a batch Job and reaches workers by SSH, with a key pair of the job."""

from __future__ import annotations

import dataclasses

from traincrew.kinds import hosts, validation_rules
from traincrew.kinds.condition_messages import ConditionMessages
from traincrew.kinds.dependent import Dependent
from traincrew.kinds.kind import JobKind
from traincrew.kinds.mpi import files, spec, v1, v2beta1_pods, v2beta1_validation, worker_wait
from traincrew.kinds.mpi.implementations import IMPLEMENTATIONS
from traincrew.kinds.replica import PodsByRole
from traincrew.model import jobs, naming, resources
from traincrew.model.observed import Observed


def dependents(job: jobs.Job, observed: Observed) -> list[Dependent]:
    service = {
        "clusterIP": "None",
        "selector": {naming.OPERATOR_NAME: KIND.controller, naming.JOB_NAME: job.name},
        "publishNotReadyAddresses": bool(job.spec.run_launcher_as_worker),
    }
    secret = {"metadata": {"name": v2beta1_pods.secret_name(job)}, "type": "kubernetes.io/ssh-auth"}
    return [
        Dependent(resources.SERVICES, {"metadata": {"name": job.name}, "spec": service}),
        spec.config_map(job, files.ssh_files(job, observed)),
        Dependent(resources.SECRETS, secret, generate="ssh-keypair"),
    ]


def launcher_waits(job: jobs.Job, observed: Observed) -> bool:
    ready = {pod.name for pod in observed.pods if pod.ready}
    return job.spec.launcher_creation_policy == "WaitForWorkersReady" and not ready.issuperset(hosts.worker_names(job))


def running(job: jobs.Job, pods: PodsByRole, leading: object) -> bool:
    workers = sum(pod.active for pod in pods.get("Worker", ()))
    return any(pod.active for pod in pods.get("Launcher", ())) and workers >= job.count("Worker")


MESSAGES = ConditionMessages(
    created="{kind} {namespace}/{name} is created.",
    running="{kind} {namespace}/{name} is running.",
    unseen="{kind} {namespace}/{name} is finished but Running condition was never set.",
    suspended="{kind} suspended",
    paused="{kind} {namespace}/{name} is suspended.",
    resumed="{kind} resumed",
    succeeded="{kind} {namespace}/{name} successfully completed.",
)

KIND: JobKind = dataclasses.replace(
    v1.KIND,
    version="v2beta1",
    operator_name="mpi-operator",
    roles=(dataclasses.replace(v1.LAUNCHER, restart_policy="OnFailure", delegated=True), v1.WORKER),
    pods=dataclasses.replace(
        v1.KIND.pods,
        env=v2beta1_pods.env,
        default_env=v2beta1_pods.default_env,
        customize=lambda pod, replica: v2beta1_pods.customize(KIND, pod, replica),
        labels=lambda replica: v2beta1_pods.labels(KIND, replica),
        wait_containers=(worker_wait.CONTAINER,),
    ),
    dependents=dataclasses.replace(
        v1.KIND.dependents, build=dependents, resources=(resources.SERVICES, resources.CONFIG_MAPS, resources.SECRETS)
    ),
    lifecycle=dataclasses.replace(
        v1.KIND.lifecycle,
        running=running,
        delegate_waits=launcher_waits,
        tolerates_failure=lambda job, role: role == "Worker",
    ),
    reporting=dataclasses.replace(
        v1.KIND.reporting,
        messages=lambda job: MESSAGES,
        running_before_end=True,
        event_conditions=("Created", "Running"),
        invalid_reason="ValidationError",
        replica_selectors=False,
    ),
    validation=dataclasses.replace(
        v1.KIND.validation,
        rules=(*v1.LAUNCHER_RULES, validation_rules.at_least(1, "Worker")),
        checks=v2beta1_validation.CHECKS,
        restart_policies=("Never", "OnFailure"),
    ),
    crd=dataclasses.replace(
        v1.KIND.crd,
        # The presence of the mount path identifies a v2beta1 job, whichever version it is read through.
        version_schema={
            "slotsPerWorker": {"default": 1},
            "sshAuthMountPath": {"default": v2beta1_pods.SSH_PATH},
            "launcherCreationPolicy": {"default": "AtStartup"},
            "mpiImplementation": {"default": "OpenMPI", "enum": list(IMPLEMENTATIONS)},
            "runLauncherAsWorker": {"default": False},
        },
    ),
    options=(),
)
