"""torchrun with a number of workers that may change: the elastic policy of a job, and its rendezvous."""

from __future__ import annotations

from typing import Annotated, Literal

from traincrew.kinds import autoscaling, elasticity
from traincrew.kinds.replica import Env, Replica, port_number
from traincrew.kinds.rule import Violation, unenforced
from traincrew.kinds.spec_fields import described
from traincrew.model import jobs, naming
from traincrew.model.meta import Struct

RENDEZVOUS_CONF = {"last_call_timeout": 7, "keep_alive_interval": 1, "keep_alive_max_attempt": 5}
"""Settings of the c10d rendezvous, in seconds, of jobs without rdzvConf. After a change of the number of workers, training
continues when lost workers are forgotten (interval times attempts) and the last call for others has ended. The last call is the
longer of the two, so that no round is completed with a worker that was lost before."""
TORCHRUN_CONF = {"last_call_timeout": 30, "keep_alive_interval": 5, "keep_alive_max_attempt": 3}
"""The defaults of torchrun."""
AUTOMATIC_RESTARTS = 100
"""torchrun counts every worker that leaves as a restart."""
RESTARTS_AT_START = f"torchrun counts every worker that leaves as a restart, and {AUTOMATIC_RESTARTS} are allowed"


class RdzvConf(Struct, gc=False):
    key: Annotated[str, described("The name of the setting.")] = ""
    value: Annotated[str, described("The value of the setting.")] = ""


class ElasticPolicy(autoscaling.ElasticPolicy):
    max_restarts: Annotated[int | None, described("The number of restarts that torchrun performs inside the pods.")] = None
    rdzv_backend: Annotated[str | None, described("The rendezvous backend of torchrun. Default: c10d.")] = None
    rdzv_port: Annotated[int | None, described("The port of the rendezvous. Default: the port of worker 0.")] = None
    rdzv_host: Annotated[str | None, described("The host of the rendezvous. Default: worker 0.")] = None
    rdzv_id: Annotated[str | None, described("The id of the rendezvous.")] = None
    rdzv_conf: Annotated[list[RdzvConf], described("Further settings of the rendezvous backend.")] = []
    standalone: Annotated[bool, described("If true, torchrun uses a rendezvous of its own in each pod.")] = False
    n_proc_per_node: Annotated[int | None, described("Deprecated: use spec.nprocPerNode.")] = None

    @property
    def uses_c10d(self) -> bool:
        return not self.standalone and (self.rdzv_backend or "c10d") == "c10d"


def env(job: jobs.Job, elastic: ElasticPolicy, container: str, port: tuple[str, int]) -> Env:
    first = naming.replica(job.name, "Worker", 0)
    host = elastic.rdzv_host or first
    host_port = job.port("Worker", 0) if host.partition(".")[0] == first else None
    low, high = autoscaling.bounds(job, elastic)
    restarts = AUTOMATIC_RESTARTS if elasticity.is_automatic(job) else None
    return {
        "PET_RDZV_ENDPOINT": f"{host}:{host_port or elastic.rdzv_port or port_number(job, 'Worker', container, port)}",
        "PET_RDZV_BACKEND": elastic.rdzv_backend or "c10d",
        "PET_NNODES": f"{low}:{high}",
        "PET_MAX_RESTARTS": restarts if elastic.max_restarts is None else elastic.max_restarts,
        "PET_RDZV_ID": elastic.rdzv_id,
        "PET_RDZV_CONF": ",".join(f"{conf.key}={conf.value}" for conf in elastic.rdzv_conf) or None,
        "PET_STANDALONE": "" if elastic.standalone else None,
    }


def default_env(replica: Replica) -> Env:
    """Without the first variable recent PyTorch reuses the store of the first rendezvous: new workers get outdated addresses."""
    elastic = replica.job.spec.elastic_policy
    if elastic is None or not elastic.uses_c10d:
        return {}
    store = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": 1} if rendezvous(replica.job) else {}
    conf = ",".join(f"{key}={value}" for key, value in RENDEZVOUS_CONF.items())
    return {**store, **({} if elastic.rdzv_conf else {"PET_RDZV_CONF": conf})}


def restarts_advice(job: jobs.Job, elastic: ElasticPolicy) -> list[Violation]:
    """torchrun ends when its restarts are used up."""
    given = elastic.max_restarts
    if given is None or given >= AUTOMATIC_RESTARTS or not elasticity.is_automatic(job):
        return []
    message = (
        f"is {given}, and torchrun counts every worker that leaves as a restart: the job fails when more have left. "
        f"Remove the field, and the operator sets {AUTOMATIC_RESTARTS} for pods that start then"
    )
    return [unenforced("spec.elasticPolicy.maxRestarts", message)]


def elastic_bounds(job: jobs.Job) -> elasticity.Elasticity:
    policy = job.spec.elastic_policy
    if policy is None or policy.standalone:
        wrong = "spec.elasticPolicy is missing" if policy is None else "spec.elasticPolicy.standalone is true"
        return elasticity.Elasticity(error=f"{wrong}: set spec.elasticPolicy with minReplicas and maxReplicas")
    low, high = autoscaling.bounds(job, policy)
    cost = elasticity.ResizeCost(20.0, 20.0, elasticity.checkpoint_seconds(job) / 2)
    protected_worker: Literal["", "first"] = "first" if rendezvous(job) else ""
    metrics = "spec.elasticPolicy.metrics" if policy.metrics is not None else ""
    set_at_start = RESTARTS_AT_START if policy.max_restarts is None else ""
    return elasticity.Elasticity(low, high, cost, protected_worker, metrics, set_at_start=set_at_start)


def removal_pause_seconds(job: jobs.Job, active: int, removed: bool) -> float:
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
    if elastic is None or not elastic.uses_c10d:
        return ""
    return first if (elastic.rdzv_host or first).partition(".")[0] == first else ""
