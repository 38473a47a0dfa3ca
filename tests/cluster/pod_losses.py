"""The ways in which a pod is lost, by the kubelet, the scheduler or a user."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tests.cluster.api import Object
from tests.cluster.fake_kubelet import FakeKubelet, now


@dataclasses.dataclass(frozen=True)
class PodLoss:
    name: str
    inflict: Callable[[FakeKubelet, str], None]
    own: bool
    """A failure of the pod itself, not a disruption."""
    code: int | None = None
    """The exit code of the training container."""

    def ends_the_job(self, policy: str) -> bool:
        if not self.own or policy in ("OnFailure", "Always"):
            return False
        return policy == "Never" or (self.code is not None and self.code < 128)


def exits(code: int, reason: str = "Error") -> Callable[[FakeKubelet, str], None]:
    return lambda kubelet, pod: kubelet.fail(pod, code=code, reason=reason)


def evicted(message: str) -> Callable[[FakeKubelet, str], None]:
    return lambda kubelet, pod: kubelet.fail_without_status(pod, "Evicted", message)


def shut_down(kubelet: FakeKubelet, pod: str) -> None:
    message = "Pod was terminated in response to imminent node shutdown."
    kubelet.fail_without_status(pod, "Terminated", message)


def preempted(kubelet: FakeKubelet, pod: str) -> None:
    mark(kubelet, pod)
    end(kubelet, pod, 143)


def mark(kubelet: FakeKubelet, pod: str, reason: str = "PreemptionByScheduler") -> None:
    """Set the condition of a disrupted pod before it ends."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "lastTransitionTime": now()}
    kubelet.status(pod, {"conditions": [condition]})


def deleted(kubelet: FakeKubelet, pod: str) -> None:
    """`kubectl delete pod`: the containers are signalled and end, then the pod is removed."""
    kubelet.api.delete("pods", kubelet.namespace, pod)
    end(kubelet, pod, 143)
    kubelet.gone(pod)


def drained(kubelet: FakeKubelet, pod: str) -> None:
    """An eviction through the API, as by `kubectl drain`. The pod is removed without a status update."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": kubelet.namespace}}
    kubelet.api.call("POST", kubelet.api.path("pods", kubelet.namespace, pod, "eviction"), body)
    kubelet.gone(pod)


def end(kubelet: FakeKubelet, pod: str, code: int) -> None:
    """End a pod that may be terminating."""
    found = kubelet.api.get("pods", kubelet.namespace, pod)
    state = {"terminated": {"exitCode": code, "reason": "Error", "startedAt": now(), "finishedAt": now()}}
    statuses: list[Object] = [{**entry, "ready": False, "state": state} for entry in found["status"]["containerStatuses"]]
    kubelet.status(pod, {"phase": "Failed", "containerStatuses": statuses})


CAUSES = (
    PodLoss("exit code 1", exits(1), own=True, code=1),
    PodLoss("killed by a signal", exits(137), own=True, code=137),
    PodLoss("out of memory", exits(137, "OOMKilled"), own=True, code=137),
    PodLoss("own storage limit", evicted('Container c exceeded its local ephemeral storage limit "1Gi". '), own=True),
    PodLoss("own volume limit", evicted('Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". '), own=True),
    PodLoss("node pressure", evicted("The node was low on resource: memory. "), own=False),
    PodLoss("preemption", preempted, own=False, code=143),
    PodLoss("node shutdown", shut_down, own=False),
    PodLoss("deletion", deleted, own=False, code=143),
    PodLoss("drain", drained, own=False),
    PodLoss("deletion by force", lambda kubelet, pod: kubelet.gone(pod), own=False),
)
