"""The pod as the API server holds it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import functools
from collections.abc import Mapping
from typing import Any

from traincrew.apimachinery import times
from traincrew.model.objects import CONTAINER_ID_SCHEME

Object = Mapping[str, Any]

_STATUS_LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_DEFAULT_GRACE_PERIOD = 30


class ContainerType(enum.Enum):
    INIT = "initContainers"
    SIDECAR = "sidecars"
    """An init container with restartPolicy Always."""
    REGULAR = "containers"
    EPHEMERAL = "ephemeralContainers"


@dataclasses.dataclass(frozen=True)
class ContainerSpec:
    """One container of the pod's spec."""

    name: str
    type: ContainerType
    spec: Object

    @property
    def image(self) -> str:
        return self.spec.get("image") or ""

    def probe(self, kind: str) -> Object | None:
        return self.spec.get(f"{kind}Probe") or None

    def hook(self, name: str) -> Object | None:
        return (self.spec.get("lifecycle") or {}).get(name) or None

    @property
    def field_path(self) -> str:
        field = "initContainers" if self.type is ContainerType.SIDECAR else self.type.value
        return f"spec.{field}{{{self.name}}}"

    @property
    def falls_back_to_logs(self) -> bool:
        return bool(self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError")


def _init_type(container: Object) -> ContainerType:
    return ContainerType.SIDECAR if container.get("restartPolicy") == "Always" else ContainerType.INIT


class Pod:
    def __init__(self, pod: Object) -> None:
        self.metadata: Object = pod.get("metadata") or {}
        self.spec: Object = pod.get("spec") or {}
        self.status: Object = pod.get("status") or {}
        self.uid = str(self.metadata.get("uid") or "")
        self.restart_policy = str(self.spec.get("restartPolicy") or "Always")

    @functools.cached_property
    def init_containers(self) -> tuple[ContainerSpec, ...]:
        return tuple(ContainerSpec(each["name"], _init_type(each), each) for each in self.spec.get("initContainers") or ())

    @functools.cached_property
    def containers(self) -> tuple[ContainerSpec, ...]:
        return tuple(ContainerSpec(each["name"], ContainerType.REGULAR, each) for each in self.spec.get("containers") or ())

    @functools.cached_property
    def ephemeral_containers(self) -> tuple[ContainerSpec, ...]:
        containers = self.spec.get("ephemeralContainers") or ()
        return tuple(ContainerSpec(each["name"], ContainerType.EPHEMERAL, each) for each in containers)

    @functools.cached_property
    def all_containers(self) -> tuple[ContainerSpec, ...]:
        return (*self.init_containers, *self.containers, *self.ephemeral_containers)

    @property
    def sidecars(self) -> tuple[ContainerSpec, ...]:
        return tuple(container for container in self.init_containers if container.type is ContainerType.SIDECAR)

    @functools.cached_property
    def reported_statuses(self) -> Mapping[str, Object]:
        """The container statuses in the API, by name."""
        return {each["name"]: each for field in _STATUS_LISTS for each in self.status.get(field) or ()}

    @property
    def phase(self) -> str:
        return str(self.status.get("phase") or "Pending")

    @property
    def is_terminal(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @functools.cached_property
    def deletion_timestamp(self) -> dt.datetime | None:
        """When the grace period of the deletion is over."""
        return times.parse_optional(self.metadata.get("deletionTimestamp"))

    @property
    def grace_period(self) -> float:
        """Seconds: the grace period of the deletion if there is one, else that of the spec."""
        for seconds in (self.metadata.get("deletionGracePeriodSeconds"), self.spec.get("terminationGracePeriodSeconds")):
            if seconds is not None:
                return float(seconds)
        return _DEFAULT_GRACE_PERIOD

    @property
    def formatted_name(self) -> str:
        """The name of the pod in messages of the kubelet."""
        return f"{self.metadata.get('name')}_{self.metadata.get('namespace')}({self.uid})"

    def container_id(self, name: str, attempt: int) -> str:
        return f"{CONTAINER_ID_SCHEME}://{self.uid}/{name}/{attempt}"
