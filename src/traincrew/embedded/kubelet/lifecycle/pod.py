"""The pod that is decided about, as the API holds it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import functools
from collections.abc import Mapping
from typing import Any

from traincrew.apimachinery import times

Object = Mapping[str, Any]

_STATUS_LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_DEFAULT_GRACE = 30


class Role(enum.Enum):
    INIT = "initContainers"
    SIDECAR = "sidecars"
    """An init container that stays: restartPolicy Always."""
    MAIN = "containers"
    EPHEMERAL = "ephemeralContainers"


@dataclasses.dataclass(frozen=True)
class Part:
    """One container of the pod's spec."""

    name: str
    role: Role
    spec: Object

    @property
    def image(self) -> str:
        return self.spec.get("image") or ""

    def probe(self, kind: str) -> Object | None:
        return self.spec.get(f"{kind}Probe") or None

    def hook(self, which: str) -> Object | None:
        return (self.spec.get("lifecycle") or {}).get(which) or None

    @property
    def field_path(self) -> str:
        field = "initContainers" if self.role is Role.SIDECAR else self.role.value
        return f"spec.{field}{{{self.name}}}"

    @property
    def falls_back_to_logs(self) -> bool:
        return bool(self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError")


class Subject:
    def __init__(self, pod: Object) -> None:
        self.meta: Object = pod.get("metadata") or {}
        self.spec: Object = pod.get("spec") or {}
        self.status: Object = pod.get("status") or {}
        self.uid = str(self.meta.get("uid") or "")
        self.restart_policy = str(self.spec.get("restartPolicy") or "Always")

    @functools.cached_property
    def inits(self) -> tuple[Part, ...]:
        return tuple(
            Part(each["name"], Role.SIDECAR if each.get("restartPolicy") == "Always" else Role.INIT, each)
            for each in self.spec.get("initContainers") or ()
        )

    @functools.cached_property
    def mains(self) -> tuple[Part, ...]:
        return tuple(Part(each["name"], Role.MAIN, each) for each in self.spec.get("containers") or ())

    @functools.cached_property
    def ephemerals(self) -> tuple[Part, ...]:
        return tuple(Part(each["name"], Role.EPHEMERAL, each) for each in self.spec.get("ephemeralContainers") or ())

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        return (*self.inits, *self.mains, *self.ephemerals)

    @property
    def sidecars(self) -> tuple[Part, ...]:
        return tuple(part for part in self.inits if part.role is Role.SIDECAR)

    @functools.cached_property
    def known(self) -> Mapping[str, Object]:
        """The container statuses that the API holds, by name."""
        return {each["name"]: each for field in _STATUS_LISTS for each in self.status.get(field) or ()}

    @property
    def phase(self) -> str:
        return str(self.status.get("phase") or "Pending")

    @property
    def finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @functools.cached_property
    def deletion(self) -> dt.datetime | None:
        """When the grace given with the deletion runs out."""
        return times.parse_optional(self.meta.get("deletionTimestamp"))

    @property
    def grace(self) -> float:
        """Of the deletion if there is one, else the spec's."""
        for given in (self.meta.get("deletionGracePeriodSeconds"), self.spec.get("terminationGracePeriodSeconds")):
            if given is not None:
                return float(given)
        return _DEFAULT_GRACE

    @property
    def words(self) -> str:
        """As the kubelet names a pod in messages."""
        return f"{self.meta.get('name')}_{self.meta.get('namespace')}({self.uid})"

    def container_id(self, name: str, attempt: int) -> str:
        return f"traincrew://{self.uid}/{name}/{attempt}"
