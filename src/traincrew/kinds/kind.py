"""What a job kind is: data and plain functions. Nothing outside a kind's own file names it.

To add a kind, copy `jax.py`, name it in `KINDS`, add an example, run `make golden` and read the diff.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from traincrew import settings
from traincrew.kinds import job_from_command
from traincrew.kinds.condition_messages import PLAIN, Phrases
from traincrew.model import jobs, naming, objects
from traincrew.model.meta import Struct, Time
from traincrew.model.observed import Observed
from traincrew.model.resources import Resource

Schema = Mapping[str, Any]
Manifest = dict[str, Any]
Pods = Mapping[str, Sequence[objects.Pod]]
"""The pods of a job by role name, each list in the order of the replica index."""


@dataclasses.dataclass(frozen=True)
class Role:
    name: str
    replicas: int = 1
    """How many when the user gives no number."""
    restart_policy: str = "Never"
    indexed: bool = True
    """False: the only pod of the role is called `<job>-<role>`, with no index."""
    delegated: bool = False
    """Its pods are made by another controller, from an object among the extras."""
    shared_port: bool = False
    """The kind's variables have room for one port of the role only: on one node there can be one replica that listens."""

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclasses.dataclass(frozen=True)
class Replica:
    """One pod-to-be: a role's n-th member."""

    job: jobs.Job
    role: Role
    index: int
    planning: settings.Planning

    @property
    def name(self) -> str:
        if self.role.indexed:
            return naming.replica(self.job.name, self.role.name, self.index)
        return f"{self.job.name}-{self.role.label}"


class Fault(Struct):
    """Something wrong with a job: where, and what to do about it."""

    path: str
    message: str
    type: Literal["Required", "Invalid", "NotSupported", "Forbidden"] = "Invalid"
    server: bool = True
    """The API server refuses this too, by schema or CEL; False: only told on the job and by `traincrew validate`."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """A CEL rule of the CRD. Its twin in Python is a Fault with `server` set.

    Kubernetes 1.27 knows neither `reason` nor `fieldPath` of a rule, hence the message names what it is about.
    """

    at: Literal["object", "spec", "policy", "queue", "replicas", "template-spec"]
    """The node of the schema it sits on: the whole object, spec, runPolicy, the queue in it, the replica map, a pod's spec."""
    cel: str
    message: str
    counts: str = ""
    """The role whose number of replicas it compares; CEL then refuses 1.0, which the schema would let pass for an integer."""


@dataclasses.dataclass(frozen=True)
class Option:
    """A setting of one kind, given to the operator as a flag."""

    flag: str
    default: str
    help: str
    is_file: bool = False
    """The value is a file name; the kind receives the file's text, or nothing if it cannot be read."""


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a job has ended, where another controller's object says so."""

    succeeded: bool
    reason: str = ""
    message: str = ""
    time: Time | None = None


@dataclasses.dataclass(frozen=True)
class Desired:
    """An object beside pods and services that a job wants."""

    resource: Resource
    body: Manifest
    exists: bool
    drift: Manifest | None = None
    """The merge patch that brings the existing object back to what is wanted."""
    owned: bool = True
    """False: it may belong to the user; it is made if absent, then left alone."""
    shared: bool = False
    """An object of this name is used whoever made it."""
    generate: Literal["", "ssh-keypair"] = ""
    """What the executor must fill in because a pure function cannot make it."""


@dataclasses.dataclass(frozen=True)
class JobKind:
    # Identity
    kind: str
    plural: str
    framework: str
    spec: type[jobs.JobSpec]
    replicas_field: str
    roles: tuple[Role, ...]
    leaders: tuple[str, ...]
    """Roles whose pods decide whether the job runs and succeeds; the first that are in the job count."""
    # The replicas' pods
    env: Callable[[Replica], list[Manifest]]
    container: str = ""
    """Name of the container that trains; empty: the first."""
    port: tuple[str, int] | None = None
    env_in: Literal["all", "main"] = "all"
    services: bool = True
    adorn: Callable[[Manifest, Replica], None] = lambda pod, replica: None
    """Whatever else the pod of a replica needs, done to the manifest in place."""
    labels: Callable[[Replica], dict[str, str]] | None = None
    """The pod labels, where they differ from the usual five."""
    # The job
    operator_name: str = ""
    version: str = "v1"
    extras: Callable[[jobs.Job, Observed], list[Desired]] = lambda job, observed: []
    makes: tuple[Resource, ...] = ()
    """Resources of the extras: what must be watched, and what the operator needs rights for."""
    validate: Callable[[jobs.Job], list[Fault]] = lambda job: []
    """The kind's own checks, on top of those in `rules`."""
    advise: Callable[[jobs.Job], list[Fault]] = lambda job: []
    """What is allowed but hardly meant: told by `traincrew validate`, never held against the job."""
    succeeded: Callable[[jobs.Job, Pods], bool] | None = None
    """Where the rule is another than: every pod of the leading role has succeeded."""
    running: Callable[[jobs.Job, Pods, Observed], bool] | None = None
    ending: Callable[[jobs.Job, Observed], Ending | None] = lambda job, observed: None
    tolerates: Callable[[jobs.Job, str], bool] = lambda job, role: False
    """A failed pod of that role, under Never, leaves the job alone."""
    meeting_point: Callable[[jobs.Job], str] = lambda job: ""
    """Name of the replica with which all others end, since they meet at it; empty: there is none."""
    fixed_crew: Callable[[jobs.Job], bool] = lambda job: True
    """Each pod is told at its start how many there are: others that come later are told another number, and do not fit in."""
    farewell: Callable[[jobs.Job], float] = lambda job: 0.0
    """Seconds that a replica gets to leave the others when the job is scaled down, before its pod is deleted."""
    phrases: Callable[[jobs.Job], Phrases] = lambda job: PLAIN
    ttl_event: str = "SuccessfulDeleteJob"
    running_before_end: bool = False
    """A Running entry is written even if the job was never seen to run."""
    announces: tuple[str, ...] = ()
    """Conditions told by an event beyond the usual ones."""
    invalid_reason: str = ""
    open_roles: bool = False
    """The API server lets unknown replica types pass; the job then says so."""
    server_rules: bool = True
    """The API server checks names, containers and replica types; False: the operator tells faults by event only."""
    restart_policies: tuple[str, ...] = ("Always", "OnFailure", "Never", "ExitCode")
    strict_cases: bool = False
    """Replica types must be written in their canonical case."""
    options: tuple[Option, ...] = ()
    sketch: Callable[[job_from_command.Wish], job_from_command.Sketch] = job_from_command.workers_only
    """The job that `traincrew run` makes of a command."""
    # The CRD
    columns: tuple[str, ...] = ("State", "Age")
    scalable: bool = False
    short_names: tuple[str, ...] = ()
    schema: Schema = dataclasses.field(default_factory=dict)
    """JSON schema of the kind's own spec fields."""
    version_schema: Schema = dataclasses.field(default_factory=dict)
    """What this version alone adds to the schema of such fields, in a kind that is the variant of another: defaults, enums."""
    rules: tuple[Rule, ...] = ()
    # Contracts
    variants: Mapping[str, JobKind] = dataclasses.field(default_factory=dict)
    """Other API versions of the same resource whose jobs behave differently, by version."""
    contract: Callable[[jobs.JobSpec], str] = lambda spec: ""
    """Which version's behaviour a job asks for, judged by its spec; empty: this kind's own."""

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def controller(self) -> str:
        """The value of the operator-name label, and the source of events."""
        return self.operator_name or f"{self.singular}-controller"

    @property
    def resource(self) -> Resource:
        return Resource(jobs.GROUP, "v1", self.plural, self.kind)

    def role(self, key: str) -> Role | None:
        """The role a key of the replica map stands for; letters' case does not matter unless the kind says so."""
        for role in self.roles:
            if key == role.name or (not self.strict_cases and key.isascii() and key.lower() == role.label):
                return role
        return None

    def following(self, stored: jobs.Stored[Any]) -> JobKind:
        """The kind whose behaviour a job follows: as recorded in its status, else as its spec tells."""
        version = stored.status.contract or self.contract(stored.spec)
        return self.variants.get(version, self)

    def job(self, stored: jobs.Stored[Any]) -> jobs.Job:
        """The job with its defaults filled in."""
        given = {role.name: spec for key, spec in (stored.spec.replica_specs or {}).items() if (role := self.role(key))}
        roles = {role.name: _role_spec(role, given[role.name]) for role in self.roles if role.name in given}
        return jobs.Job(stored.metadata, stored.spec, stored.spec.policy(), roles, stored.status, stored.status.host_ports)

    def leading(self, job: jobs.Job) -> tuple[str, ...]:
        """The roles that decide: leaders[0] and its alternatives if present, else the last resort."""
        present = tuple(name for name in self.leaders[:-1] if name in job.roles)
        return present or self.leaders[-1:]

    def leads(self, replica: Replica) -> bool:
        """Whether the pod carries job-role=master: all of an explicit leading role, or its first worker."""
        if replica.role.name not in self.leading(replica.job):
            return False
        return replica.role.name != self.leaders[-1] or replica.index == 0


def _role_spec(role: Role, spec: jobs.ReplicaSpec | None) -> jobs.RoleSpec:
    spec = spec or jobs.ReplicaSpec()
    return jobs.RoleSpec(
        name=role.name,
        replicas=role.replicas if spec.replicas is None else spec.replicas,
        restart_policy=spec.restart_policy or role.restart_policy,
        template=spec.template,
    )


def port_number(job: jobs.Job, role: str, container: str, port: tuple[str, int]) -> int:
    """Where a role's first replica listens: at the port it was given, else at that of this name, else the default."""
    if (given := job.port(role, 0)) is not None:
        return given
    if role in job.roles:
        for candidate in job.roles[role].containers:
            if candidate.get("name") == container:
                for entry in candidate.get("ports") or []:
                    if entry.get("name") == port[0]:
                        return int(entry["containerPort"])
    return port[1]


def var(name: str, value: object) -> Manifest:
    return {"name": name, "value": str(value)}


def decode(kind: JobKind, raw: bytes) -> jobs.Stored[Any]:
    stored: jobs.Stored[Any] = _decoder(kind.spec).decode(raw)
    return stored


_DECODERS: dict[type, msgspec.json.Decoder[Any]] = {}


def _decoder(spec: type[jobs.JobSpec]) -> msgspec.json.Decoder[Any]:
    if spec not in _DECODERS:
        _DECODERS[spec] = msgspec.json.Decoder(jobs.Stored[spec], strict=False)  # type: ignore[valid-type]
    return _DECODERS[spec]
