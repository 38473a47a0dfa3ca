"""PyTorchJob: torch.distributed and torchrun, fixed or elastic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from traincrew.kinds import autoscaling, job_from_command, pod_templates, torchrun, validation_rules
from traincrew.kinds.condition_messages import qualified_without_master
from traincrew.kinds.dns_wait import DnsWait
from traincrew.kinds.kind import CRD, JobKind, Lifecycle, PodConfig, Reporting, Validation
from traincrew.kinds.other_operators import TRAINING_OPERATOR, OtherOperator
from traincrew.kinds.replica import Env, Manifest, PodsByRole, Replica, Role, all_succeeded, port_number
from traincrew.kinds.rule import Violation, unenforced
from traincrew.kinds.spec_fields import described
from traincrew.model import jobs, naming

CONTAINER = "pytorch"
PORT = ("pytorchjob-port", 23456)
MASTER_WAIT = DnsWait("init-pytorch", flags="pytorch-init-container", former_image_flag="init-container-image")
PROCESSES = "The number of processes that torchrun starts in each pod: a number, auto, cpu or gpu. Default: auto."


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="pytorchReplicaSpecs", default=None)
    nproc_per_node: Annotated[str | None, described(PROCESSES)] = None
    elastic_policy: Annotated[torchrun.ElasticPolicy | None, described(autoscaling.POLICY)] = None


def env(replica: Replica) -> Env:
    job, elastic = replica.job, replica.job.spec.elastic_policy
    deprecated = elastic.n_proc_per_node if elastic else None
    return {
        "PYTHONUNBUFFERED": 1,
        **(_master_env(replica) if "Master" in job.roles else {}),
        "PET_NPROC_PER_NODE": deprecated if deprecated is not None else job.spec.nproc_per_node or "auto",
        **(torchrun.env(job, elastic, CONTAINER, PORT) if elastic else {"PET_NNODES": job.total}),
    }


def _master_env(replica: Replica) -> Env:
    job = replica.job
    address, port = naming.replica(job.name, "Master", 0), port_number(job, "Master", CONTAINER, PORT)
    rank = replica.index if replica.role.name == "Master" else replica.index + 1
    nproc = job.spec.nproc_per_node or ""
    return {
        "MASTER_PORT": port,
        "PET_MASTER_PORT": port,
        "MASTER_ADDR": address,
        "PET_MASTER_ADDR": address,
        "WORLD_SIZE": job.total * (int(nproc) if nproc.isdecimal() else 1),
        "RANK": rank,
        "PET_NODE_RANK": rank,
    }


def customize(pod: Manifest, replica: Replica) -> None:
    """Workers wait until the master's name resolves, so that none of them fails before the master exists."""
    if replica.role.name == "Worker" and "Master" in replica.job.roles:
        master = naming.replica(replica.job.name, "Master", 0)
        pod_templates.add_init_containers(KIND, pod, MASTER_WAIT.containers(replica, master))


def succeeded(job: jobs.Job, pods: PodsByRole, leading: Sequence[str]) -> bool:
    (role,) = leading
    if role == "Worker" and job.spec.elastic_policy is not None:
        # torchrun ends all agents together: the first that succeeds decides.
        return any(pod.status.phase == "Succeeded" for pod in pods.get(role, ()))
    return all_succeeded(job, pods, role)


def _nproc_given_twice(job: jobs.Job) -> bool:
    elastic = job.spec.elastic_policy
    return elastic is not None and elastic.n_proc_per_node is not None and job.spec.nproc_per_node is not None


RULES = (
    validation_rules.exactly_one("Master"),
    validation_rules.at_least(1, "Worker"),
    validation_rules.spec_rule(
        "pytorchReplicaSpecs[Worker]",
        "must be configured if elastic policy is used",
        cel="!has(self.elasticPolicy) || self.pytorchReplicaSpecs.exists(k, k.lowerAscii() == 'worker')",
        violated=lambda job: job.spec.elastic_policy is not None and "Worker" not in job.roles,
    ),
    validation_rules.spec_rule(
        "elasticPolicy.nProcPerNode",
        "must not be used with spec.nprocPerNode",
        cel="!has(self.elasticPolicy) || !has(self.elasticPolicy.nProcPerNode) || !has(self.nprocPerNode)",
        violated=_nproc_given_twice,
    ),
)


def advise(job: jobs.Job) -> list[Violation]:
    elastic = job.spec.elastic_policy
    if elastic is None:
        return []
    violations = []
    if elastic.n_proc_per_node is not None:
        violations.append(unenforced("spec.elasticPolicy.nProcPerNode", "is deprecated, use spec.nprocPerNode instead"))
    return [*violations, *autoscaling.advise(KIND, job, elastic), *torchrun.restarts_advice(job, elastic)]


def from_command(request: job_from_command.CommandRequest) -> job_from_command.JobOutline:
    command, bounds = request.command, request.elastic
    if bounds is None:
        processes = max(request.gpus, 1) if command[0].endswith("torchrun") else 1
        return job_from_command.with_leader("Master", request, {"nprocPerNode": str(processes)})
    if job_from_command.is_python(command) and command[1:3] != ("-m", "torch.distributed.run"):
        request = request._replace(command=(command[0], "-m", "torch.distributed.run", *command[1:]))
    policy = {"minReplicas": bounds[0], "maxReplicas": bounds[1], "rdzvBackend": "c10d"}
    # With --idle the operator sets many: workers that leave consume them.
    policy |= {} if request.idle else {"maxRestarts": request.retries}
    return job_from_command.elastic_workers(request, {"nprocPerNode": str(max(request.gpus, 1)), "elasticPolicy": policy})


PYTORCH_OPERATOR = OtherOperator("pytorch-operator", "name=pytorch-operator", ("pytorch-operator", "pytorch-operator.v1"))

KIND = JobKind(
    kind="PyTorchJob",
    framework="pytorch",
    modules=("torch",),
    spec=Spec,
    roles=(Role("Master", restart_policy="OnFailure"), Role("Worker", restart_policy="OnFailure")),
    leaders=("Master", "Worker"),
    other_operators=(TRAINING_OPERATOR, PYTORCH_OPERATOR),
    pods=PodConfig(env, CONTAINER, PORT, torchrun.default_env, customize=customize, wait_containers=(MASTER_WAIT.container,)),
    dependents=autoscaling.dependents("PyTorchJob"),
    lifecycle=Lifecycle(
        succeeded=succeeded,
        rendezvous=torchrun.rendezvous,
        fixed_size=autoscaling.fixed_size,
        removal_pause_seconds=torchrun.removal_pause_seconds,
        elastic=torchrun.elastic_bounds,
    ),
    reporting=Reporting(qualified_without_master, ttl_event="SuccessfulDeletePod"),
    validation=Validation(RULES, advise=advise),
    crd=CRD(scalable=True),
    options=MASTER_WAIT.options,
    from_command=from_command,
)
