"""The built-in objects that plans read, with only the fields that decisions use."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.model.meta import Meta, Struct, Time

CONTAINER_ID_SCHEME = "traincrew"
"""In the container IDs of our kubelet, as `containerd` in those of containerd."""
FIRST_SIGNAL_CODE = 128
"""Runtimes and shells report a process that signal n has ended with 128 + n."""


class Waiting(Struct, gc=False):
    reason: str = ""
    message: str = ""


class Terminated(Struct, gc=False):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: Time | None = None
    finished_at: Time | None = None
    container_id: str = msgspec.field(name="containerID", default="")

    @property
    def ending_signal(self) -> int | None:
        """What is known about an exit code above 128: the signal that ended the process, or 0 if the process returned the code.

        None: not known. Only our kubelet reports signals; that of Kubernetes has the exit code of the runtime alone.
        """
        if self.exit_code <= FIRST_SIGNAL_CODE:
            return None
        return self.signal if self.signal or self.container_id.startswith(f"{CONTAINER_ID_SCHEME}://") else None


class Running(Struct, gc=False):
    started_at: Time | None = None


class ContainerState(Struct):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct):
    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodCondition(Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class PodStatus(Struct):
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    start_time: Time | None = None
    pod_ip: str = msgspec.field(name="podIP", default="")
    conditions: list[PodCondition] = []
    init_container_statuses: list[ContainerStatus] = []
    container_statuses: list[ContainerStatus] = []

    def condition(self, type: str) -> PodCondition | None:
        return next((c for c in self.conditions if c.type == type), None)

    @property
    def containers_ended(self) -> bool:
        """Whether all containers but sidecars among the init containers have ended."""
        return bool(self.container_statuses) and all(each.state.terminated is not None for each in self.container_statuses)


class Container(Struct, gc=False):
    name: str = ""
    termination_message_policy: str = ""


class PodSpec(Struct, gc=False):
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    active_deadline_seconds: int | None = None


class Pod(Struct):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def active(self) -> bool:
        return self.status.phase == "Running" and not self.terminating

    @property
    def ready(self) -> bool:
        condition = self.status.condition("Ready")
        return self.active and condition is not None and condition.status == "True"

    @property
    def node_lost(self) -> bool:
        """Whether the node no longer responds: its kubelet would not report ready containers in a pod that is not ready.

        The controller of nodes marks the pods of a lost node as not ready, and does not touch the condition of their containers.
        """
        if self.status.phase == "Unknown":
            return True
        ready, containers = self.status.condition("Ready"), self.status.condition("ContainersReady")
        if self.finished or not self.spec.node_name or ready is None or containers is None:
            return False
        # A kubelet reports this too while a readiness gate is not met.
        return ready.status == "False" and containers.status == "True" and ready.reason != "ReadinessGatesNotReady"


class Plain(Struct):
    """An object of which only its existence matters: a Service, a ServiceAccount, a RoleBinding."""

    metadata: Meta


class ConfigMap(Struct):
    metadata: Meta
    data: dict[str, str] = {}


class RbacRole(Struct):
    metadata: Meta
    rules: list[dict[str, Any]] | None = None
    """Null if a Role has no rules."""


class JobCondition(Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class TemplateSpec(Struct):
    node_selector: dict[str, str] = {}


class JobTemplate(Struct):
    spec: TemplateSpec = TemplateSpec()


class BatchJobSpec(Struct):
    suspend: bool = False
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    template: JobTemplate = JobTemplate()


class BatchJobStatus(Struct):
    active: int = 0
    failed: int = 0
    succeeded: int = 0
    start_time: Time | None = None
    completion_time: Time | None = None
    conditions: list[JobCondition] = []


class BatchJob(Struct):
    metadata: Meta
    spec: BatchJobSpec = BatchJobSpec()
    status: BatchJobStatus = BatchJobStatus()

    def condition(self, type: str) -> JobCondition | None:
        return next((c for c in self.status.conditions if c.type == type and c.status == "True"), None)

    @property
    def finished(self) -> bool:
        return self.condition("Complete") is not None or self.condition("Failed") is not None


class Autoscaler(Struct):
    metadata: Meta
    spec: dict[str, Any] = {}


class PodGroupStatus(Struct, gc=False):
    phase: str = ""


class PodGroup(Struct):
    metadata: Meta
    spec: dict[str, Any] = {}
    status: PodGroupStatus = PodGroupStatus()
