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
    host_ports: tuple[int, int] | None = None
    """First and last of the ports of which replicas in their node's network get one each; None: they get none."""
    host_ports_for_all: bool = False
    """Whether every pod is in its node's network, though none says `hostNetwork`."""
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
class Logs:
    """What is kept of the output of containers."""

    file_bytes: int = 10 << 20
    """Size at which a container's log goes on in a new file."""
    files: int = 5
    """Files of one run of a container, the one being written included."""
    days: float = 7.0
    """How long logs of pods that are gone stay."""
    total_bytes: int = 1 << 30
    """What logs of pods that are gone may take altogether."""


@dataclasses.dataclass(frozen=True)
class Node:
    """The node that this machine is."""

    name: str = "traincrew"
    isolation: str = ""
    """`root`, `user` or `none`; empty: the best that works here."""
    devices: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Extended resources that are declared, such as nvidia.com/gpu: 4."""
    driver_root: str = "/"
    """Below which a driver of devices shows its /proc and /dev."""
    strict_images: bool = False
    """Whether an image without an environment of its own is refused."""
    pods: int = 1000
    """Most pods at a time."""
    pod_pids: int = 16_384
    """Most processes and threads of a pod; 0: no limit."""
    subnet: str = ""
    """Of pods' addresses, such as 10.244.0.0/16; empty: one that is free here."""
    domain: str = "cluster.local"
    shutdown_grace: float = 10.0
    """Seconds that pods get at most when the node is stopped."""
    logs: Logs = Logs()


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
    node: Node | None = None
    """How pods are run; None: they are not."""
    overcommit: tuple[str, ...] = ("cpu",)
    """Resources of which pods may ask for more than there is."""


@dataclasses.dataclass(frozen=True)
class Joined:
    """This machine as a node of some cluster."""

    data: str
    node: Node
    address: str = "127.0.0.1"
    """At which the API server reaches logs, exec and port-forward."""
    callers: tuple[str, ...] = ("kube-apiserver-kubelet-client",)
    """Common names of the certificates that an API server may show there."""
    client_ca: str = ""
    """PEM of the authority of those; empty: what the cluster says itself."""
    drain: bool = False
    """Whether pods are ended with the agent."""
