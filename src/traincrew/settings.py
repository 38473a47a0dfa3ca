"""Settings as frozen values, by topic. Whoever needs some is handed them; nothing imports a current setting.

Where they come from (later wins): the defaults here, the environment, the command line. Reading those is the CLI's work.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Planning:
    """What decisions depend on beside the job and the cluster."""

    cluster_domain: str = ""
    """Appended to service names, such as `cluster.local`; empty: names end in `.svc`."""
    gang_scheduler: str = ""
    """`volcano`, or the scheduler name of a scheduler-plugins installation; empty: no gangs."""
    leftover_grace: int = 30
    """Seconds after the end of a job before pods that still run are ended, where cleanPodPolicy was left out."""
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Settings of single kinds, by flag name, as declared in `JobKind.options`."""


@dataclasses.dataclass(frozen=True)
class Election:
    """Who acts when several operators run."""

    enabled: bool = False
    name: str = "1ca428e5.training-operator.kubeflow.org"
    """Name of the Lease; the Go training operator's, so that the two never act at the same time."""
    namespace: str = ""
    """Where the Lease lives; empty: the operator's own namespace."""
    lease_seconds: int = 15
    renew_seconds: int = 10
    """How long the leader tries to renew before it gives up acting."""
    retry_seconds: int = 2


@dataclasses.dataclass(frozen=True)
class Operator:
    """The running operator."""

    namespace: str = ""
    """The one namespace to look at; empty: all of them."""
    kinds: tuple[str, ...] = ()
    """Kinds to run, in any case of letters; empty: all."""
    metrics_address: str = ":8080"
    health_address: str = ":8081"
    in_flight: int = 64
    """Requests that may be under way to the API server at once."""
    workers: int = 16
    """Jobs that may be worked on at once."""
    planning: Planning = Planning()
    election: Election = Election()


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The cluster on this machine."""

    data: str = ""
    """Directory of everything it keeps; empty: $TRAINCREW_DATA, else $XDG_STATE_HOME/traincrew."""
    listen: str = "127.0.0.1"
    port: int = 0
    """0: the one of the last time, or any that is free."""
    namespaces: tuple[str, ...] = ("kubeflow", "mpi-operator")
    """Made beside `default` at the start."""
    operator: bool = True
    """Whether the operator runs in it."""
    controllers: bool = True
    """Whether what has lost its owner is collected, namespaces have accounts, and quotas are counted."""
    audit_log: str = ""
    """File that gets a line for every request; empty: none does."""
