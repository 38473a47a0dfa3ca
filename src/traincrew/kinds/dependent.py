"""The objects that a job needs beside its pods and their services."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

from traincrew.kinds.replica import Manifest
from traincrew.model import jobs
from traincrew.model.observed import Observed
from traincrew.model.resources import Resource


@dataclasses.dataclass(frozen=True)
class Dependent:
    """An object other than a pod or a replica's service that a job needs."""

    resource: Resource
    body: Manifest
    reconciled_field: Literal["", "data", "rules", "spec"] = ""
    """The field that is restored if it differs from the desired state. All other fields are set at the creation only."""
    owned: bool = True
    """False: the object may belong to the user. It is created if it does not exist, and never changed."""
    shared: bool = False
    """An existing object of this name is used, even if another client created it."""
    generate: Literal["", "ssh-keypair"] = ""
    """Content that the executor generates, because a pure function cannot."""

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])


@dataclasses.dataclass(frozen=True)
class Dependents:
    """How the dependents of a job are built, and of which resources they are."""

    build: Callable[[jobs.Job, Observed], list[Dependent]] = lambda job, observed: []
    resources: tuple[Resource, ...] = ()
    """Resources of these objects. The operator watches them and needs permissions for them."""
    labels: Callable[[jobs.Job], dict[str, str]] = lambda job: {}
    """Labels of these objects, in addition to the operator's own."""
