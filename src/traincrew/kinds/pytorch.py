"""PyTorchJob: torch.distributed and torchrun, fixed or elastic."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from traincrew.kinds import autoscaling, job_from_command, validation_rules
from traincrew.kinds.condition_messages import PLAIN, QUALIFIED
from traincrew.kinds.kind import (
    Desired,
    Fault,
    JobKind,
    Manifest,
    Option,
    Pods,
    Replica,
    Role,
    Rule,
    port_number,
    var,
)
from traincrew.model import jobs, naming, resources
from traincrew.model.meta import Struct
from traincrew.model.observed import Observed

CONTAINER = "pytorch"
PORT = ("pytorchjob-port", 23456)
OWN_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
"""Without it recent PyTorch keeps the first round's store, and a crew that grows is given the addresses of the one before."""
INIT_IMAGE = "pytorch-init-container-image"
INIT_TEMPLATE = "pytorch-init-container-template-file"
INIT_TRIES = "pytorch-init-container-max-tries"


class RdzvConf(Struct, gc=False):
    key: str = ""
    value: str = ""


class ElasticPolicy(Struct):
    min_replicas: int | None = None
    max_replicas: int | None = None
    rdzv_backend: str | None = None
    rdzv_port: int | None = None
    rdzv_host: str | None = None
    rdzv_id: str | None = None
    rdzv_conf: list[RdzvConf] = []
    standalone: bool = False
    n_proc_per_node: int | None = None
    max_restarts: int | None = None
    metrics: list[dict[str, Any]] | None = None


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="pytorchReplicaSpecs", default=None)
    nproc_per_node: str | None = None
    elastic_policy: ElasticPolicy | None = None


def env(replica: Replica) -> list[Manifest]:
    job = replica.job
    found = [var("PYTHONUNBUFFERED", 1)]
    if "Master" in job.roles:
        found += _master_env(replica)
    elastic = job.spec.elastic_policy
    if elastic is None or elastic.n_proc_per_node is None:
        found.append(var("PET_NPROC_PER_NODE", job.spec.nproc_per_node or "auto"))
    return found + (_elastic_env(job, elastic) if elastic else [var("PET_NNODES", job.total)])


def _master_env(replica: Replica) -> list[Manifest]:
    job = replica.job
    address = naming.replica(job.name, "Master", 0)
    port = port_number(job, "Master", CONTAINER, PORT)
    rank = replica.index if replica.role.name == "Master" else replica.index + 1
    nproc = job.spec.nproc_per_node or ""
    return [
        var("MASTER_PORT", port),
        var("PET_MASTER_PORT", port),
        var("MASTER_ADDR", address),
        var("PET_MASTER_ADDR", address),
        var("WORLD_SIZE", job.total * (int(nproc) if nproc.isdecimal() else 1)),
        var("RANK", rank),
        var("PET_NODE_RANK", rank),
    ]


def _elastic_env(job: jobs.Job, elastic: ElasticPolicy) -> list[Manifest]:
    first = naming.replica(job.name, "Worker", 0)
    host = elastic.rdzv_host or first
    given = job.port("Worker", 0) if host.partition(".")[0] == first else None
    port = given or elastic.rdzv_port or port_number(job, "Worker", CONTAINER, PORT)
    low, high = autoscaling.bounds(job, elastic)
    found = [
        var("PET_RDZV_ENDPOINT", f"{host}:{port}"),
        var("PET_RDZV_BACKEND", elastic.rdzv_backend or "c10d"),
        var("PET_NNODES", f"{low}:{high}"),
    ]
    optional = {
        "PET_MAX_RESTARTS": elastic.max_restarts,
        "PET_NPROC_PER_NODE": elastic.n_proc_per_node,
        "PET_RDZV_ID": elastic.rdzv_id,
        "PET_RDZV_CONF": ",".join(f"{conf.key}={conf.value}" for conf in elastic.rdzv_conf) or None,
        "PET_STANDALONE": "" if elastic.standalone else None,
    }
    return found + [var(name, value) for name, value in optional.items() if value is not None]


def meeting_point(job: jobs.Job) -> str:
    """The worker that hosts torchrun's store. Agents that lose it end at once."""
    elastic = job.spec.elastic_policy
    first = naming.replica(job.name, "Worker", 0)
    if elastic is None or elastic.standalone or (elastic.rdzv_backend or "c10d") != "c10d":
        return ""
    return first if (elastic.rdzv_host or first).partition(".")[0] == first else ""


def adorn(pod: Manifest, replica: Replica) -> None:
    """Workers wait until the master's name resolves, so that none of them fails before the master is there."""
    if meeting_point(replica.job):
        for container in pod["spec"]["containers"]:
            if not any(entry.get("name") == OWN_STORE for entry in container["env"]):
                container["env"] = [*container["env"], var(OWN_STORE, 1)]
    if replica.role.name == "Worker" and "Master" in replica.job.roles:
        waiting = _init_containers(replica)
        main = next((c for c in pod["spec"]["containers"] if c.get("name") == CONTAINER), pod["spec"]["containers"][0])
        for container in waiting:
            if "securityContext" in main:
                container.setdefault("securityContext", main["securityContext"])
        pod["spec"].setdefault("initContainers", []).extend(waiting)


_WAIT = """i=0
while [ "$i" -lt {tries} ]; do
  if nslookup {master} >/dev/null 2>&1; then exit 0; fi
  i=$((i + 1))
  echo "waiting for master {master} ($i of {tries})"
  sleep 2
done
echo "{master} does not resolve: is its Service there, and does cluster DNS work?"
exit 1"""


def _init_containers(replica: Replica) -> list[Manifest]:
    options = replica.planning.options
    image = options.get(INIT_IMAGE) or "alpine:3.10"
    master = naming.replica(replica.job.name, "Master", 0)
    tries = options.get(INIT_TRIES) or "100"
    if options.get(INIT_TEMPLATE):
        text = options[INIT_TEMPLATE]
        for field, value in {"MasterAddr": master, "InitContainerImage": image, "MaxTries": tries}.items():
            text = text.replace("{{." + field + "}}", value).replace("{{ ." + field + " }}", value)
        return list(yaml.load(text, yaml.CSafeLoader) or [])
    container = {
        "name": "init-pytorch",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {
            "limits": {"cpu": "100m", "memory": "20Mi"},
            "requests": {"cpu": "50m", "memory": "10Mi"},
        },
        "command": ["sh", "-c", _WAIT.format(master=master, tries=tries)],
    }
    return [container]


def extras(job: jobs.Job, observed: Observed) -> list[Desired]:
    return autoscaling.autoscalers(KIND.kind, job, job.spec.elastic_policy, observed)


def succeeded(job: jobs.Job, pods: Pods) -> bool:
    (role,) = KIND.leading(job)
    done = sum(pod.status.phase == "Succeeded" for pod in pods.get(role, ()))
    if role == "Worker" and job.spec.elastic_policy is not None:
        return done > 0  # torchrun ends all agents together: the first that is done speaks for them
    return done >= job.count(role) > 0


def validate(job: jobs.Job) -> list[Fault]:
    found = []
    for at, count in validation_rules.counts(KIND, job, "Master"):
        if count != 1:
            found.append(Fault(path=at, message=f"must be 1, got {count}", type="Forbidden"))
    for at, count in validation_rules.counts(KIND, job, "Worker"):
        if count < 1:
            found.append(Fault(path=at, message=f"must be at least 1, got {count}", type="Forbidden"))
    elastic = job.spec.elastic_policy
    if elastic is not None and "Worker" not in job.roles:
        message = "must be configured if elastic policy is used"
        found.append(Fault(path=validation_rules.replica_path(KIND, "Worker"), message=message, type="Required"))
    if elastic is not None and elastic.n_proc_per_node is not None and job.spec.nproc_per_node is not None:
        message = "must not be used with spec.nprocPerNode"
        found.append(Fault(path="spec.elasticPolicy.nProcPerNode", message=message, type="Forbidden"))
    return found


def advise(job: jobs.Job) -> list[Fault]:
    elastic = job.spec.elastic_policy
    if elastic is None:
        return []
    found = []
    if elastic.n_proc_per_node is not None:
        found.append(_advice("spec.elasticPolicy.nProcPerNode", "is deprecated, use spec.nprocPerNode instead"))
    low, high = autoscaling.bounds(job, elastic)
    if low > high:
        found.append(_advice("spec.elasticPolicy.minReplicas", f"is {low}, more than maxReplicas, which is {high}"))
    elif "Worker" in job.roles and not low <= job.count("Worker") <= high:
        message = f"is {job.count('Worker')}, not between minReplicas {low} and maxReplicas {high}"
        found.append(_advice(f"{validation_rules.replica_path(KIND, 'Worker')}.replicas", message))
    return found


def _advice(path: str, message: str) -> Fault:
    return Fault(path=path, message=message, server=False)


def sketch(wish: job_from_command.Wish) -> job_from_command.Sketch:
    if wish.elastic is None:
        processes = max(wish.gpus, 1) if wish.command[0].endswith("torchrun") else 1
        made = job_from_command.led_by("Master", wish)
        return job_from_command.Sketch(made.parts, {"nprocPerNode": str(processes)})
    command = wish.command
    if job_from_command.is_python(command) and command[1:3] != ("-m", "torch.distributed.run"):
        command = (command[0], "-m", "torch.distributed.run", *command[1:])
    low, high = wish.elastic
    policy = {"minReplicas": low, "maxReplicas": high, "rdzvBackend": "c10d", "maxRestarts": 10}
    return job_from_command.Sketch(
        (job_from_command.Part("Worker", wish.workers, command),),
        {"nprocPerNode": str(max(wish.gpus, 1)), "elasticPolicy": policy},
    )


INT32 = {"type": "integer", "format": "int32"}
STRING = {"type": "string"}

KIND = JobKind(
    kind="PyTorchJob",
    plural="pytorchjobs",
    framework="pytorch",
    spec=Spec,
    replicas_field="pytorchReplicaSpecs",
    roles=(Role("Master", restart_policy="OnFailure"), Role("Worker", restart_policy="OnFailure")),
    leaders=("Master", "Worker"),
    container=CONTAINER,
    port=PORT,
    env=env,
    adorn=adorn,
    extras=extras,
    makes=(resources.AUTOSCALERS,),
    succeeded=succeeded,
    meeting_point=meeting_point,
    fixed_crew=lambda job: job.spec.elastic_policy is None,
    validate=validate,
    advise=advise,
    phrases=lambda job: PLAIN if "Master" in job.roles else QUALIFIED,
    ttl_event="SuccessfulDeletePod",
    sketch=sketch,
    scalable=True,
    options=(
        Option(INIT_IMAGE, "alpine:3.10", "image of the container in which workers wait for the master's name"),
        Option(
            INIT_TEMPLATE,
            "/etc/config/initContainer.yaml",
            "file with a YAML list of containers to use instead",
            True,
        ),
        Option(INIT_TRIES, "100", "how often to look for the master's name, two seconds apart, before giving up"),
    ),
    schema={
        "nprocPerNode": STRING,
        "elasticPolicy": {
            "type": "object",
            "properties": {
                "minReplicas": INT32,
                "maxReplicas": INT32,
                "rdzvBackend": STRING,
                "rdzvPort": INT32,
                "rdzvHost": STRING,
                "rdzvId": STRING,
                "rdzvConf": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"key": STRING, "value": STRING}},
                },
                "standalone": {"type": "boolean"},
                "nProcPerNode": INT32,
                "maxRestarts": INT32,
                "metrics": {"type": "array", "items": {"$ref": "MetricSpec"}},
            },
        },
    },
    rules=(
        validation_rules.counted("Master", "== 1", "must be 1"),
        validation_rules.counted("Worker", ">= 1", "must be at least 1"),
        Rule(
            at="spec",
            cel="!has(self.elasticPolicy) || self.pytorchReplicaSpecs.exists(k, k.lowerAscii() == 'worker')",
            message="pytorchReplicaSpecs.Worker must be configured if elastic policy is used",
        ),
        Rule(
            at="spec",
            cel="!has(self.elasticPolicy) || !has(self.elasticPolicy.nProcPerNode) || !has(self.nprocPerNode)",
            message="elasticPolicy.nProcPerNode must not be used with spec.nprocPerNode",
        ),
    ),
)
