"""Job kinds as data and plain functions. Nothing outside a kind's own file names that kind.

To add a kind, copy `jax.py`, add the kind to `KINDS`, add an example, run `make golden` and read the diff.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from traincrew.apimachinery import completion_indexes
from traincrew.kinds import elasticity, job_from_command
from traincrew.kinds.condition_messages import PLAIN, ConditionMessages
from traincrew.kinds.dependent import Dependents
from traincrew.kinds.option import Option
from traincrew.kinds.other_operators import TRAINING_OPERATOR, OtherOperator
from traincrew.kinds.replica import Env, Manifest, PodsByRole, Replica, Role, all_succeeded
from traincrew.kinds.rule import Rule, Violation
from traincrew.model import jobs, resources
from traincrew.model.observed import Observed
from traincrew.model.resources import Resource
from traincrew.model.status import JobStatus

Schema = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class PodConfig:
    """How the pod of a replica differs from the template of its role."""

    env: Callable[[Replica], Env]
    """Environment variables that the operator adds."""
    container: str = ""
    """Name of the container that trains. Empty: the first container."""
    port: tuple[str, int] | None = None
    """Name and default number of the port at which a replica listens."""
    default_env: Callable[[Replica], Env] = lambda replica: {}
    """Environment variables that the operator adds to containers that do not set them themselves."""
    env_in: Literal["all", "main"] = "all"
    """Containers that get the environment variables."""
    services: bool = True
    """Each replica has its own headless Service."""
    customize: Callable[[Manifest, Replica], None] = lambda pod, replica: None
    """Further changes to the pod manifest, in place."""
    labels: Callable[[Replica], dict[str, str]] | None = None
    """The labels of pods. None: those of `pod_templates.labels`."""
    rank: Callable[[jobs.Job, str, int], int | None] | None = None
    """The rank of a replica by the label of its role and its index. None: a variable of the pod has it."""
    wait_containers: tuple[str, ...] = ()
    """Names of init containers that `customize` adds. They wait or copy files; their logs do not matter afterwards."""


@dataclasses.dataclass(frozen=True)
class Lifecycle:
    """How the state of a job follows from its pods."""

    succeeded: Callable[[jobs.Job, PodsByRole, Sequence[str]], bool] = lambda job, pods, leading: all(
        all_succeeded(job, pods, role) for role in leading
    )
    """Whether the job succeeded, given its leading roles. Default: every pod of the leading roles succeeded."""
    running: Callable[[jobs.Job, PodsByRole, Sequence[str]], bool] = lambda job, pods, leading: any(
        pod.active for role in leading for pod in pods.get(role, ())
    )
    """Whether the job is running. Default: a pod of a leading role is active."""
    delegate_waits: Callable[[jobs.Job, Observed], bool] = lambda job, observed: False
    """The batch Job of a delegated role is neither created nor resumed yet."""
    tolerates_failure: Callable[[jobs.Job, str], bool] = lambda job, role: False
    """A failed pod of this role with restartPolicy Never does not fail the job."""
    rendezvous: Callable[[jobs.Job], str] = lambda job: ""
    """Name of the replica that hosts the rendezvous: if it is lost, all others fail. Empty: there is none."""
    fixed_size: Callable[[jobs.Job], bool] = lambda job: True
    """The number of replicas is part of each pod's environment, so the job cannot be scaled while it runs."""
    drain_seconds: Callable[[jobs.Job], float] = lambda job: 0.0
    """Time between the removal of a replica from the host list and the deletion of its pod, on scale-down."""
    elastic: Callable[[jobs.Job], elasticity.Elasticity] = elasticity.fixed
    """Bounds of the number of workers, and what a change costs."""
    removal_pause_seconds: Callable[[jobs.Job, int, bool], float] = lambda job, active, removed: 0.0
    """Time after the start or the removal of a replica in which no replica is removed: the others wait for it to join them.

    active: how many replicas run. removed: whether a replica was removed, else one was started."""


@dataclasses.dataclass(frozen=True)
class Reporting:
    """Conditions and events with the messages of the Go operators."""

    messages: Callable[[jobs.Job], ConditionMessages] = lambda job: PLAIN
    ttl_event: str = "SuccessfulDeleteJob"
    running_before_end: bool = False
    """A Running condition is written even if the job ended before it was observed running."""
    event_conditions: tuple[str, ...] = ()
    """Conditions that are also reported by an event, in addition to those of every kind."""
    invalid_reason: str = ""
    """Reason of the Failed condition of an invalid job. Empty: `<kind>FailedValidation`."""
    replica_selectors: bool = True
    """The status of each role of a scalable kind has the label selector of its pods."""
    resource_exists: str = ""
    """Message of the event ErrResourceExists, for every object whose name others have. Empty: the error of the API server."""


@dataclasses.dataclass(frozen=True)
class Validation:
    """The checks of the kind in addition to the checks of every kind."""

    rules: tuple[Rule, ...] = ()
    checks: tuple[Callable[[JobKind, jobs.Job], Iterable[Violation]], ...] = ()
    """Checks that the API server does not enforce."""
    advise: Callable[[jobs.Job], list[Violation]] = lambda job: []
    """Values that are allowed but probably a mistake. They never fail the job."""
    server_rules: bool = True
    """The API server checks the rules, and names, containers and replica types. False: only the operator reports violations."""
    open_roles: bool = False
    """The API server accepts unknown replica types. The operator reports them."""
    strict_cases: bool = False
    """Replica types must be written in their canonical case."""
    restart_policies: tuple[str, ...] = ("Always", "OnFailure", "Never", "ExitCode")


@dataclasses.dataclass(frozen=True)
class CRD:
    """The parts of the CustomResourceDefinition that differ between kinds. The schema derives from `JobKind.spec`."""

    columns: tuple[str, ...] = ("State", "Age")
    scalable: bool = False
    """The CRD has a scale subresource for the workers."""
    selector_in_status: bool = False
    """The scale subresource reads `.status.selector`, because not every version has a selector in its replicaStatuses."""
    short_names: tuple[str, ...] = ()
    version_schema: Schema = dataclasses.field(default_factory=dict)
    """Additions to the schema of the spec fields in this API version: defaults and enums."""


@dataclasses.dataclass(frozen=True)
class JobKind:
    kind: str
    framework: str
    spec: type[jobs.JobSpec]
    roles: tuple[Role, ...]
    leaders: tuple[str, ...]
    """Roles whose pods decide whether the job runs and succeeds; the first that are in the job count."""
    pods: PodConfig
    version: str = "v1"
    modules: tuple[str, ...] = ()
    """Python modules whose import shows that a script trains with this kind."""
    operator_name: str = ""
    """Value of the operator-name label, if it is not `<kind>-controller`."""
    managers: tuple[str, ...] = ("kubeflow.org/training-operator",)
    """Values of runPolicy.managedBy with which this operator reconciles the job."""
    other_operators: tuple[OtherOperator, ...] = (TRAINING_OPERATOR,)
    """Go operators for this kind. While one of them is running, jobs of this kind are not reconciled."""
    dependents: Dependents = Dependents()
    lifecycle: Lifecycle = Lifecycle()
    reporting: Reporting = Reporting()
    validation: Validation = Validation()
    crd: CRD = CRD()
    options: tuple[Option, ...] = ()
    from_command: Callable[[job_from_command.CommandRequest], job_from_command.JobOutline] = job_from_command.workers_only
    """The job that `traincrew run` builds from a command."""
    variants: Mapping[str, JobKind] = dataclasses.field(default_factory=dict)
    """Other API versions of the same resource whose jobs behave differently, by version."""
    contract: Callable[[jobs.JobObject[Any]], str] = lambda stored: ""
    """The API version whose behaviour a job requests. Empty: that of this kind."""

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def plural(self) -> str:
        return f"{self.singular}s"

    @functools.cached_property
    def replicas_field(self) -> str:
        """JSON name of the replica map, such as `tfReplicaSpecs`."""
        return next(field.encode_name for field in msgspec.structs.fields(self.spec) if field.name == "replica_specs")

    @property
    def controller(self) -> str:
        """The value of the operator-name label, and the source of events."""
        return self.operator_name or f"{self.singular}-controller"

    @property
    def resource(self) -> Resource:
        return Resource(jobs.GROUP, "v1", self.plural, self.kind)

    @property
    def created_resources(self) -> tuple[Resource, ...]:
        """The resources of all objects that the operator creates for jobs of this kind and of its variants."""
        created = [resources.PODS]
        for kind in (self, *self.variants.values()):
            created += [resources.SERVICES] if kind.pods.services else []
            created += [resources.BATCH_JOBS] if any(role.delegated for role in kind.roles) else []
            created += kind.dependents.resources
        return tuple(dict.fromkeys(created))

    @property
    def wait_containers(self) -> tuple[str, ...]:
        """The names of all init containers that the operator adds to pods of this kind and of its variants."""
        return tuple(name for kind in (self, *self.variants.values()) for name in kind.pods.wait_containers)

    def role(self, key: str) -> Role | None:
        """The role for a key of the replica map. Case does not matter, unless the kind is strict."""
        for role in self.roles:
            if key == role.name or (not self.validation.strict_cases and key.isascii() and key.lower() == role.label):
                return role
        return None

    def following(self, stored: jobs.JobObject[Any]) -> JobKind:
        """The kind whose behaviour a job follows: as recorded in its status, else as requested by its creator."""
        version = stored.status.contract or self.contract(stored)
        return self.variants.get(version, self)

    def job(self, stored: jobs.JobObject[Any]) -> jobs.Job:
        """The job with defaults."""
        given = {role.name: spec for key, spec in (stored.spec.replica_specs or {}).items() if (role := self.role(key))}
        roles = {role.name: _role_spec(role, given[role.name]) for role in self.roles if role.name in given}
        status = stored.status
        return jobs.Job(stored.metadata, stored.spec, stored.spec.policy(), roles, status, status.host_ports, _members(status))

    def leading(self, job: jobs.Job) -> tuple[str, ...]:
        """The roles that decide: the leaders that the job has, else the last of the leaders."""
        present = tuple(name for name in self.leaders[:-1] if name in job.roles)
        return present or self.leaders[-1:]

    def leads(self, replica: Replica) -> bool:
        """Whether the pod gets job-role=master: every pod of an explicit leading role, or the first worker."""
        if replica.role.name not in self.leading(replica.job):
            return False
        return replica.role.name != self.leaders[-1] or replica.index == 0


def _members(status: JobStatus) -> dict[str, tuple[int, ...]]:
    recorded = completion_indexes.parse(status.elastic.members) if status.elastic is not None else ()
    return {elasticity.ROLE: tuple(sorted(recorded)[: jobs.MAX_REPLICAS])} if recorded else {}


def _role_spec(role: Role, spec: jobs.ReplicaSpec | None) -> jobs.RoleSpec:
    spec = spec or jobs.ReplicaSpec()
    return jobs.RoleSpec(
        name=role.name,
        replicas=role.replicas if spec.replicas is None else spec.replicas,
        restart_policy=spec.restart_policy or role.restart_policy,
        template=spec.template,
    )
