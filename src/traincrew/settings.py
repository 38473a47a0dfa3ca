"""Settings as frozen values, by topic. They are passed as arguments; there are no global settings.

Sources, the later override the earlier: the defaults in this module, `cluster.yaml`, the environment, the command line.
The CLI reads them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Planning:
    """Settings of the planner."""

    cluster_domain: str = ""
    """DNS domain of the cluster, such as `cluster.local`. Empty: host names end in `.svc`."""
    gang_scheduler: str = ""
    """`volcano`, or the scheduler name of a scheduler-plugins installation. Empty: no gang scheduling."""
    finished_job_pod_grace: float = 30.0
    """Seconds between the end of a job without a cleanPodPolicy and the end of its running pods."""
    node_loss_grace: float = 60.0
    """Seconds for which a replica that failed because it lost another one waits until the loss of a node is noticed. It
    must be longer than the node-monitor-grace-period of kube-controller-manager. 0: such a failure is decided at once."""
    host_ports: tuple[int, int] | None = None
    """First and last port that can be allocated to replicas with hostNetwork. None: no ports are allocated."""
    host_ports_for_all: bool = False
    """Allocate ports to all replicas, also to those without hostNetwork."""
    init_image: str = ""
    """Image of the init containers that the operator adds: it has `sh`, `nslookup`, `kubectl` and `traincrew-wait`. Empty: public
    images are used, and containers that need `traincrew-wait` are not added."""
    surplus_class: str = "traincrew-surplus"
    """PriorityClass of workers on idle capacity. Its value is below that of every other pod."""
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Settings of kinds, by flag name, as declared in `JobKind.options`."""


@dataclasses.dataclass(frozen=True)
class Election:
    """Leader election between several operators."""

    enabled: bool = False
    name: str = "1ca428e5.training-operator.kubeflow.org"
    """Name of the Lease. It is the name that the Go training operator uses, so that both never run at the same time."""
    namespace: str = ""
    """Namespace of the Lease. Empty: the namespace of the operator."""
    lease_seconds: int = 15
    renew_seconds: int = 10
    """Time after which a leader that cannot renew the Lease stops."""
    retry_seconds: int = 2


AUTOSCALED_NODES = ("auto", "yes", "no")
"""Which nodes belong to an autoscaler: those that Karpenter has labelled, all, none."""
SCALING_MODES = ("manual", "yield", "idle")
"""Whether the operator may change the number of workers of an elastic job: no; only to give back; also to use idle capacity."""


@dataclasses.dataclass(frozen=True)
class Sharing:
    """Settings of the decision about the workers of elastic jobs."""

    headroom: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Amounts that workers on idle capacity must leave unused, by resource; cpu in thousandths."""
    headroom_fractions: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """The same as fractions of the allocatable resources of all nodes, from 0 to 1."""
    settle: float = 10.0
    """Seconds for which capacity must be idle before a job is scaled up."""
    resize_budget: float = 0.05
    """The fraction of its running time that a job may spend on scaling up, from 0 to 1."""
    notice_taints: tuple[str, ...] = ()
    """Keys of the taints that announce the termination of a node. Empty: those of known cloud providers and autoscalers.

    Taints of nodes that do not respond (unreachable, out-of-service) count in any case.
    """
    scaling_default: str = "manual"
    """The mode of elastic jobs without the annotation for it: manual, yield or idle."""
    autoscaled: str = "auto"
    """Which nodes belong to an autoscaler: auto (those that Karpenter has labelled), yes (all) or no (none)."""
    pin_surplus: bool = False
    """Whether workers on idle capacity may run on the node only that they are meant for."""


@dataclasses.dataclass(frozen=True)
class Operator:
    """Settings of the operator."""

    namespaces: tuple[str, ...] = ()
    """The namespaces to watch. Empty: all namespaces."""
    own_namespace: str = ""
    """The namespace of the operator's pod. Empty: not known."""
    kinds: tuple[str, ...] = ()
    """Kinds to reconcile, case-insensitive. Empty: all kinds."""
    metrics_address: str = ":8080"
    health_address: str = ":8081"
    in_flight: int = 64
    """Largest number of concurrent requests to the API server."""
    workers: int = 16
    """Largest number of jobs that are reconciled concurrently."""
    planning: Planning = Planning()
    election: Election = Election()
    metrics_authentication: bool = False
    """Require a token that the API server accepts, and a permission, to read the metrics."""
    metrics_certificate: str = ""
    """Directory with tls.crt and tls.key for the metrics endpoint. Empty: no TLS."""
    sharing: Sharing = Sharing()
    overcommitted: tuple[str, ...] = ()
    """Resources of which the scheduler lets pods request more than a node has."""
    ignore_other_operators: bool = False
    """Reconcile jobs also while a Go operator for the same kinds is running."""


@dataclasses.dataclass(frozen=True)
class Logs:
    """Rotation and retention of container logs."""

    file_bytes: int = 10 << 20
    """Size at which a log file is rotated."""
    files: int = 5
    """Largest number of log files of one container run, including the current file."""
    days: float = 7.0
    """Retention of the logs of deleted pods."""
    total_bytes: int = 1 << 30
    """Largest total size of the logs of deleted pods."""


@dataclasses.dataclass(frozen=True)
class Node:
    """This machine as a node."""

    name: str = "traincrew"
    isolation: str = ""
    """`root`, `user` or `none`. Empty: the highest level that is available."""
    devices: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Extended resources of the node, such as `nvidia.com/gpu: 4`."""
    driver_root: str = "/"
    """Directory that contains the /proc and /dev of the device driver."""
    strict_images: bool = False
    """Reject images without an environment of their own."""
    pods: int = 1000
    """Largest number of pods."""
    pod_pids: int = 16_384
    """Largest number of processes and threads of a pod. 0: no limit."""
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    """Sysctls that pods may set besides the safe ones: names, or beginnings of names that end with `*`."""
    subnet: str = ""
    """CIDR of the pod addresses, such as 10.244.0.0/16. Empty: a free subnet."""
    domain: str = "cluster.local"
    shutdown_grace: float = 10.0
    """Largest grace period of pods in seconds when the node shuts down."""
    logs: Logs = Logs()


@dataclasses.dataclass(frozen=True)
class History:
    """What is recorded of jobs, and how long it is kept."""

    max_age_seconds: float = 30 * 86400.0
    """Time after which a deleted job is removed from the history."""
    max_bytes: int = 1 << 30
    """Size of the history. The jobs that were deleted first are removed first."""
    max_log_bytes: int = 64 << 20
    """Size of the copied log of one container, compressed. Its oldest lines are removed first."""
    namespaces: tuple[str, ...] = ()
    """Those that are recorded. Empty: all."""


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Settings of the cluster on this machine."""

    data: str = ""
    """Data directory. Empty: $TRAINCREW_DATA, else $XDG_STATE_HOME/traincrew."""
    listen: str = "127.0.0.1"
    port: int = 0
    """0: the port of the last start, or a free port."""
    namespaces: tuple[str, ...] = ()
    """Namespaces that are created at the start, besides `default`. Empty: those in which the Go operators are installed."""
    operator: bool = True
    """Run the operator in the same process."""
    controllers: bool = True
    """Run the controllers (garbage collection, namespaces, quotas, jobs and others) and the scheduler."""
    audit_log: str = ""
    """File with one line for each request. Empty: no audit log."""
    node: Node | None = None
    """The node that runs the pods. None: no node."""
    overcommit: tuple[str, ...] = ("cpu",)
    """Resources whose requests may exceed the capacity of the node."""
    sharing: Sharing = Sharing()
    history: History | None = None
    """Record the history of jobs. None: do not."""


@dataclasses.dataclass(frozen=True)
class JoinedNode:
    """This machine as a node of another cluster."""

    data: str
    node: Node
    address: str = "127.0.0.1"
    """Address at which the API server reaches logs, exec and port-forward."""
    callers: tuple[str, ...] = ("kube-apiserver-kubelet-client",)
    """Common names of the client certificates that are accepted."""
    client_ca: str = ""
    """PEM of the certificate authority of the clients. Empty: the one that the cluster publishes."""
    stop_pods: bool = False
    """Stop the pods when the node stops."""
