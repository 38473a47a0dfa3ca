"""PyTorchJob: torch.distributed and torchrun, fixed or elastic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from traincrew.kinds import autoscaling, elasticity, job_from_command, pod_templates, validation_rules
from traincrew.kinds.condition_messages import qualified_without_master
from traincrew.kinds.dns_wait import DnsWait
from traincrew.kinds.kind import CRD, JobKind, Lifecycle, PodConfig, Reporting, Validation
from traincrew.kinds.other_operators import TRAINING_OPERATOR, OtherOperator
from traincrew.kinds.replica import Env, Manifest, PodsByRole, Replica, Role, all_succeeded, port_number
from traincrew.kinds.rule import Violation, unenforced
from traincrew.model import jobs, naming
from traincrew.model.meta import Struct

CONTAINER = "pytorch"
PORT = ("pytorchjob-port", 23456)
MASTER_WAIT = DnsWait("init-pytorch", flags="pytorch-init-container", former_image_flag="init-container-image")

RENDEZVOUS_CONF = {"last_call_timeout": 7, "keep_alive_interval": 1, "keep_alive_max_attempt": 5}
"""Settings of the c10d rendezvous, in seconds, of jobs without rdzvConf. After a change of the number of workers, training
continues when lost workers are forgotten (interval times attempts) and the last call for others has ended. The last call is the
longer of the two, so that no round is completed with a worker that was lost before."""
TORCHRUN_CONF = {"last_call_timeout": 30, "keep_alive_interval": 5, "keep_alive_max_attempt": 3}
"""The defaults of torchrun."""
AUTOMATIC_RESTARTS = 100


class RdzvConf(Struct, gc=False):
    key: str = ""
    value: str = ""


class ElasticPolicy(autoscaling.ElasticPolicy):
    rdzv_backend: str | None = None
    rdzv_port: int | None = None
    rdzv_host: str | None = None
    rdzv_id: str | None = None
    rdzv_conf: list[RdzvConf] = []
    standalone: bool = False
    n_proc_per_node: int | None = None


DESCRIPTIONS = {
    **autoscaling.DESCRIPTIONS,
    "elasticPolicy.maxRestarts": "The number of restarts that torchrun performs inside the pods.",
    "nprocPerNode": "The number of processes that torchrun starts in each pod: a number, auto, cpu or gpu. Default: auto.",
    "elasticPolicy.rdzvBackend": "The rendezvous backend of torchrun. Default: c10d.",
    "elasticPolicy.rdzvHost": "The host of the rendezvous. Default: worker 0.",
    "elasticPolicy.rdzvPort": "The port of the rendezvous. Default: the port of worker 0.",
    "elasticPolicy.rdzvId": "The id of the rendezvous.",
    "elasticPolicy.rdzvConf": "Further settings of the rendezvous backend.",
    "elasticPolicy.rdzvConf.key": "The name of the setting.",
    "elasticPolicy.rdzvConf.value": "The value of the setting.",
    "elasticPolicy.standalone": "If true, torchrun uses a rendezvous of its own in each pod.",
    "elasticPolicy.nProcPerNode": "Deprecated: use spec.nprocPerNode.",
}


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="pytorchReplicaSpecs", default=None)
    nproc_per_node: str | None = None
    elastic_policy: ElasticPolicy | None = None


def env(replica: Replica) -> Env:
    job, elastic = replica.job, replica.job.spec.elastic_policy
    deprecated = elastic.n_proc_per_node if elastic else None
    return {
        "PYTHONUNBUFFERED": 1,
        **(_master_env(replica) if "Master" in job.roles else {}),
        "PET_NPROC_PER_NODE": deprecated if deprecated is not None else job.spec.nproc_per_node or "auto",
        **(_elastic_env(job, elastic) if elastic else {"PET_NNODES": job.total}),
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


def _elastic_env(job: jobs.Job, elastic: ElasticPolicy) -> Env:
    first = naming.replica(job.name, "Worker", 0)
    host = elastic.rdzv_host or first
    host_port = job.port("Worker", 0) if host.partition(".")[0] == first else None
    port = host_port or elastic.rdzv_port or port_number(job, "Worker", CONTAINER, PORT)
    low, high = autoscaling.bounds(job, elastic)
    return {
        "PET_RDZV_ENDPOINT": f"{host}:{port}",
        "PET_RDZV_BACKEND": elastic.rdzv_backend or "c10d",
        "PET_NNODES": f"{low}:{high}",
        "PET_MAX_RESTARTS": _max_restarts(job, elastic),
        "PET_RDZV_ID": elastic.rdzv_id,
        "PET_RDZV_CONF": ",".join(f"{conf.key}={conf.value}" for conf in elastic.rdzv_conf) or None,
        "PET_STANDALONE": "" if elastic.standalone else None,
    }


def _max_restarts(job: jobs.Job, elastic: ElasticPolicy) -> int | None:
    """torchrun counts every worker that leaves as a restart."""
    if elastic.max_restarts is None and elasticity.is_automatic(job):
        return AUTOMATIC_RESTARTS
    return elastic.max_restarts


def elastic_bounds(job: jobs.Job) -> elasticity.Elasticity:
    policy = job.spec.elastic_policy
    if policy is None or policy.standalone:
        wrong = "spec.elasticPolicy is missing" if policy is None else "spec.elasticPolicy.standalone is true"
        return elasticity.Elasticity(refusal=f"{wrong}: set spec.elasticPolicy with minReplicas and maxReplicas")
    low, high = autoscaling.bounds(job, policy)
    cost = elasticity.ResizeCost(20.0, 20.0, elasticity.checkpoint_seconds(job) / 2)
    anchor: Literal["", "first"] = "first" if rendezvous(job) else ""
    metrics = "spec.elasticPolicy.metrics" if policy.metrics is not None else ""
    return elasticity.Elasticity(low, high, cost, anchor, metrics)


def _uses_c10d(elastic: ElasticPolicy) -> bool:
    return not elastic.standalone and (elastic.rdzv_backend or "c10d") == "c10d"


def default_env(replica: Replica) -> Env:
    """Without the first variable recent PyTorch reuses the store of the first rendezvous: new workers get outdated addresses."""
    elastic = replica.job.spec.elastic_policy
    if elastic is None or not _uses_c10d(elastic):
        return {}
    store = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": 1} if rendezvous(replica.job) else {}
    conf = ",".join(f"{key}={value}" for key, value in RENDEZVOUS_CONF.items())
    return {**store, **({} if elastic.rdzv_conf else {"PET_RDZV_CONF": conf})}


def settle_seconds(job: jobs.Job, active: int, removed: bool) -> float:
    """How long it takes at most until the processes of a new round are connected. torchrun notices later losses by itself.

    A removed worker is forgotten first. There is no last call for others if the largest number of workers has joined.
    """
    elastic = job.spec.elastic_policy
    if elastic is None or elastic.standalone:
        return 0.0
    given = {each.key: int(each.value) for each in elastic.rdzv_conf if each.value.isdecimal()}
    conf = {**TORCHRUN_CONF, **given} if elastic.rdzv_conf else RENDEZVOUS_CONF
    forgotten = conf["keep_alive_interval"] * conf["keep_alive_max_attempt"] if removed else 0
    last_call = conf["last_call_timeout"] if active < autoscaling.bounds(job, elastic)[1] else 0
    return float(last_call + forgotten + elasticity.start_seconds(job))


def rendezvous(job: jobs.Job) -> str:
    """The worker that hosts torchrun's store. Agents that lose the store exit at once."""
    elastic = job.spec.elastic_policy
    first = naming.replica(job.name, "Worker", 0)
    if elastic is None or not _uses_c10d(elastic):
        return ""
    return first if (elastic.rdzv_host or first).partition(".")[0] == first else ""


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
    return violations + autoscaling.advise(KIND, job, elastic)


def from_command(request: job_from_command.CommandRequest) -> job_from_command.JobOutline:
    command, bounds = request.command, request.elastic
    if bounds is None:
        processes = max(request.gpus, 1) if command[0].endswith("torchrun") else 1
        return job_from_command.with_leader("Master", request, {"nprocPerNode": str(processes)})
    if job_from_command.is_python(command) and command[1:3] != ("-m", "torch.distributed.run"):
        request = request._replace(command=(command[0], "-m", "torch.distributed.run", *command[1:]))
    policy = {"minReplicas": bounds[0], "maxReplicas": bounds[1], "rdzvBackend": "c10d"}
    policy |= {} if request.idle else {"maxRestarts": 10}
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
    pods=PodConfig(env, CONTAINER, PORT, default_env, customize=customize, wait_containers=(MASTER_WAIT.container,)),
    dependents=autoscaling.dependents("PyTorchJob"),
    lifecycle=Lifecycle(
        succeeded=succeeded,
        rendezvous=rendezvous,
        fixed_size=autoscaling.fixed_size,
        settle_seconds=settle_seconds,
        elastic=elastic_bounds,
    ),
    reporting=Reporting(qualified_without_master, ttl_event="SuccessfulDeletePod"),
    validation=Validation(RULES, advise=advise),
    crd=CRD(scalable=True, descriptions=DESCRIPTIONS),
    options=MASTER_WAIT.options,
    from_command=from_command,
)
