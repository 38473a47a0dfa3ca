"""The cluster, its nodes, and what the console can do there."""

from __future__ import annotations

from typing import Literal

from traincrew.console.contract.message import Message
from traincrew.console.contract.requests import SignInMethod
from traincrew.model.meta import Time

FeatureName = Literal["nodes", "queues", "metrics", "exec", "history", "tensorboard", "simulate"]


class KindInfo(Message, kw_only=True):
    kind: str
    """The lowercase singular, such as `mpijob`."""
    kind_name: str
    api_versions: list[str]
    """Such as `["kubeflow.org/v1", "kubeflow.org/v2beta1"]`; the first is the default."""
    replicas_field: str
    """Such as `mpiReplicaSpecs`."""
    roles: list[str]
    installed: bool
    """The API server serves the kind."""
    scalable: bool
    """It has a scale subresource."""


class Feature(Message, kw_only=True):
    name: FeatureName
    available: bool
    reason: str = ""
    """Why not, and what to do."""


class Capabilities(Message, kw_only=True):
    version: str
    """Version of traincrew."""
    mode: Literal["embedded", "cluster", "recording"]
    """`embedded`: the cluster of this machine that `traincrew up` runs. `recording`: no cluster, only recording files."""
    context: str
    """Name of the kubeconfig context. Empty: none."""
    server: str
    """Address of the API server."""
    server_version: str
    user: str
    """Name of the user, as far as the API server reports it."""
    namespace: str
    """Default namespace."""
    namespaces: list[str]
    """Empty: the user may not list namespaces."""
    kinds: list[KindInfo]
    features: list[Feature]


class Device(Message, kw_only=True):
    """One device of a node. Nodes report how many devices a pod holds, not which ones: those of a pod are beside each other."""

    namespace: str = ""
    """Of the pod that holds the device. Empty: the device is free."""
    pod: str = ""
    kind: str = ""
    """The lowercase singular of the job that the pod belongs to. Empty: it belongs to none."""
    job: str = ""
    replica: str = ""


class NodeDevices(Message, kw_only=True):
    resource: str
    """Such as `nvidia.com/gpu`."""
    allocatable: int
    requested: int
    devices: list[Device] = []
    """One by one, at most 64: those that are held, then those that are free."""


class Node(Message, kw_only=True):
    name: str
    ready: bool
    schedulable: bool
    message: str = ""
    """Why the node is not ready."""
    created: Time | None = None
    allocatable: dict[str, str]
    requested: dict[str, str]
    """Requests of the pods on the node."""
    used: dict[str, str] = {}
    """CPU and memory that are used, as the metrics server measures them. Empty: it does not."""
    devices: list[NodeDevices]
    labels: dict[str, str]
    taints: list[str]
    jobs: list[str]
    """`namespace/kind/name` of jobs with pods on the node."""


class NodeList(Message, kw_only=True):
    nodes: list[Node]
    notes: list[str] = []
    """What could not be read, and why: requests and holders of devices, or the usage, are then incomplete."""


class SessionInfo(Message, kw_only=True):
    method: SignInMethod
    """How the user has signed in."""
    user: str = ""
    """Name of the user, as the API server says (SelfSubjectReview). Empty: all sessions are those of the console's own user."""
    groups: list[str] = []
    csrf_token: str
    """Value of the header X-CSRF-Token of every request but the sign-in. The page keeps it in localStorage: unlike the cookie, it
    is not sent to other servers of this machine."""
