"""Finds the Deployments of traincrew and of the Go operators on a cluster."""

from __future__ import annotations

import contextlib

import msgspec

from traincrew import settings
from traincrew.client import interfaces
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.kinds.other_operators import OtherOperator
from traincrew.model.managed_fields import ManagedFieldsEntry
from traincrew.model.meta import Meta, Struct, Time
from traincrew.model.operator_pod import PodSpec
from traincrew.model.resources import Resource

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
NAME_LABEL, OWN_NAME = "app.kubernetes.io/name", "traincrew"


class ChangedMeta(Meta):
    managed_fields: list[ManagedFieldsEntry] = []

    @property
    def changed(self) -> Time | None:
        """When the object was written last, by the clock of the API server."""
        return max((each.time for each in self.managed_fields if each.time is not None), default=None)


class _Template(Struct):
    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()


class _Selector(Struct):
    match_labels: dict[str, str] = {}


class _Spec(Struct):
    replicas: int = 1
    selector: _Selector = _Selector()
    template: _Template = _Template()


class _Status(Struct):
    ready_replicas: int = 0


class Deployment(Struct):
    metadata: ChangedMeta
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def reference(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.spec.template.metadata.labels)

    @property
    def image(self) -> str:
        return self.spec.template.spec.containers[0].image if self.spec.template.spec.containers else ""

    @property
    def selector(self) -> str:
        return ",".join(f"{key}={value}" for key, value in sorted(self.spec.selector.match_labels.items()))

    @property
    def namespaces(self) -> list[str]:
        """The namespaces that the operator watches; empty: all."""
        variable = self.spec.template.spec.variable("KUBEFLOW_NAMESPACE", self.metadata.namespace)
        given = self.flags("namespace") or variable.split(",")
        return list(dict.fromkeys(name.strip() for name in given if name.strip()))

    @property
    def kinds(self) -> list[JobKind]:
        """The kinds that the operator serves."""
        enabled = {name.lower() for name in self.flags("enable-scheme")}
        return [kind for kind in KINDS if not enabled or kind.kind.lower() in enabled]

    @property
    def gang_scheduler(self) -> str:
        """Empty: gang scheduling is off."""
        name = self.flag("gang-scheduler-name")
        return "" if name.lower() == "none" else name

    @property
    def election(self) -> settings.Election:
        """The leader election in which traincrew takes part."""
        name = self.flag("leader-election-id") or settings.Election.name
        namespace = self.flag("leader-election-namespace") or self.metadata.namespace
        return settings.Election(enabled=self.has_flag("leader-elect"), name=name, namespace=namespace)

    def flag(self, name: str) -> str:
        """The value of a flag of the operator; empty if it is not given."""
        return next(reversed(self.flags(name)), "")

    def flags(self, name: str) -> list[str]:
        return self.spec.template.spec.flags(name)

    def has_flag(self, name: str) -> bool:
        return self.spec.template.spec.has_flag(name)


class Installed(Struct):
    found: list[Deployment] = []
    """All Deployments of the cluster."""
    traincrew: list[Deployment] = []
    others: list[tuple[str, Deployment]] = []
    """Go operators by name."""


async def find(reader: interfaces.Reader) -> Installed:
    async with contextlib.aclosing(reader.pages(DEPLOYMENTS, None)) as pages:
        return sort([msgspec.json.decode(raw, type=Deployment) async for page in pages for raw in page.items])


def sort(found: list[Deployment]) -> Installed:
    own: list[Deployment] = []
    others: list[tuple[str, Deployment]] = []
    for each in found:
        if each.labels.get(NAME_LABEL) == OWN_NAME:
            own.append(each)
        else:
            others += [(operator.name, each) for operator in other_operators() if _is(operator, each)]
    return Installed(found=found, traincrew=own, others=others)


def other_operators() -> list[OtherOperator]:
    return list(dict.fromkeys(each for kind in KINDS for each in kind.other_operators))


def kinds_of(name: str) -> list[JobKind]:
    """The kinds that a Go operator serves."""
    return [kind for kind in KINDS if any(each.name == name for each in kind.other_operators)]


def _is(operator: OtherOperator, deployment: Deployment) -> bool:
    key, _, value = operator.pod_labels.partition("=")
    return deployment.metadata.name == operator.name or deployment.labels.get(key) == value
