"""Reasons for which a job does not run: how to cause each, what the status must report, and how to fix it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from tests.cluster import manifests
from tests.cluster.api import Api, Object, RejectedRequest, eventually
from tests.cluster.fake_kubelet import FakeKubelet, now
from tests.cluster.submitted_job import SubmittedJob


@dataclasses.dataclass
class Scenario:
    """A PyTorchJob with a master and a worker in a namespace. The worker does not run."""

    api: Api
    namespace: str
    name: str = "j"
    container: Object = dataclasses.field(default_factory=dict)
    """Further fields of the worker's training container."""

    @property
    def kubelet(self) -> FakeKubelet:
        return FakeKubelet(self.api, self.namespace)

    @property
    def worker(self) -> str:
        return f"{self.name}-worker-0"

    @property
    def replicas(self) -> tuple[str, str]:
        return f"{self.name}-master-0", self.worker

    @functools.cached_property
    def job(self) -> SubmittedJob:
        worker = manifests.replicas("PyTorchJob", 1, "OnFailure", **self.container)
        return SubmittedJob(self.api, self.namespace, manifests.job("PyTorchJob", self.name, Master=1, Worker=worker))

    def submit(self) -> None:
        assert self.job.uid

    def run(self) -> None:
        self.kubelet.run(*self.replicas)

    def edit_worker(self, **spec: Any) -> None:
        self.job.patch({"pytorchReplicaSpecs": {"Worker": spec}})

    def edit_container(self, **fields: Any) -> None:
        container = {**manifests.template("PyTorchJob")["spec"]["containers"][0], **fields}
        self.edit_worker(template={"spec": {"containers": [container]}})

    def rejects_pods(self, yes: bool) -> None:
        """Wait until the API server rejects, or accepts, a pod: admission sees changes with a delay."""
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, **manifests.template("PyTorchJob")}

        def refused() -> bool:
            try:
                self.api.create(self.namespace, pod, dryRun="All")
            except RejectedRequest as rejection:
                return rejection.code == 403
            return False

        eventually(lambda: refused() is yes)


Step = Callable[[Scenario], None]


@dataclasses.dataclass(frozen=True)
class WaitingCase:
    reason: str
    says: tuple[str, ...]
    """Parts of the message. `{job}` is the name of the job."""
    cause: Step
    """Submits the job and causes the problem."""
    fix: Step = Scenario.run
    """Fixes the problem. All pods run afterwards."""


def _worker(cause: Step) -> Step:
    """Submits the job, runs the master, schedules the worker, then causes the problem."""

    def run(scenario: Scenario) -> None:
        scenario.submit()
        scenario.kubelet.run(scenario.replicas[0])
        scenario.kubelet.bind(scenario.worker)
        cause(scenario)

    return run


def _waiting(reason: str, message: str) -> WaitingCase:
    cause = _worker(lambda scenario: scenario.kubelet.waiting(scenario.worker, reason, message))
    return WaitingCase(reason, ("container pytorch of pod {job}-worker-0", message), cause)


def _unschedulable(scenario: Scenario) -> None:
    scenario.submit()
    scenario.kubelet.pod(scenario.worker)
    scenario.kubelet.unschedulable(scenario.worker, "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.")


def _crash_loop(scenario: Scenario) -> None:
    message = "back-off 5m0s restarting failed container=pytorch"
    entry = {
        "name": "pytorch", "image": "train:1", "imageID": "", "ready": False, "restartCount": 5,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": message}},
        "lastState": {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": now()}},
    }  # fmt: skip
    scenario.kubelet.status(scenario.worker, {"phase": "Running", "containerStatuses": [entry]})


def _init_container(state: Object) -> Step:
    def write(scenario: Scenario) -> None:
        entry = {"name": "init-pytorch", "image": "a:1", "imageID": "", "ready": False, "restartCount": 2, **state}
        scenario.kubelet.status(scenario.worker, {"phase": "Pending", "initContainerStatuses": [entry]})

    return write


_INIT_FAILED = {
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s restarting failed container"}},
    "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "does not resolve", "finishedAt": now()}},
}
_INIT_DONE = {"state": {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": now()}}}


def _init_succeeded(scenario: Scenario) -> None:
    _init_container(_INIT_DONE)(scenario)
    scenario.run()


def _quota(pods: str) -> Step:
    """Acts as the quota controller, which copies limits into the status; the API server enforces them."""

    def write(scenario: Scenario) -> None:
        limits = {"status": {"hard": {"pods": pods}, "used": {"pods": "0"}}}
        scenario.api.patch("resourcequotas", scenario.namespace, "small", limits, "status")
        scenario.rejects_pods(pods == "0")

    return write


def _over_quota(scenario: Scenario) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": {"pods": "0"}}}
    scenario.api.create(scenario.namespace, quota)
    _quota("0")(scenario)
    scenario.submit()


def _restricted(level: str) -> Step:
    def write(scenario: Scenario) -> None:
        labels = {"pod-security.kubernetes.io/enforce": level}
        scenario.api.patch("namespaces", "", scenario.namespace, {"metadata": {"labels": labels}})
        scenario.rejects_pods(level == "restricted")

    return write


def _forbidden(scenario: Scenario) -> None:
    _restricted("restricted")(scenario)
    scenario.submit()


def _template(**fields: Any) -> Step:
    def cause(scenario: Scenario) -> None:
        scenario.container = fields
        scenario.submit()

    return cause


def _foreign(kind: str, spec: Object) -> Step:
    def cause(scenario: Scenario) -> None:
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": scenario.worker}, "spec": spec}
        scenario.api.create(scenario.namespace, body)
        scenario.submit()

    return cause


def _removed(plural: str) -> Step:
    return lambda scenario: scenario.api.delete(plural, scenario.namespace, scenario.worker, grace=0)


def _edited(scenario: Scenario) -> None:
    scenario.submit()
    scenario.run()
    scenario.job.becomes("Running")
    scenario.edit_worker(restartPolicy="Sometimes")


FAST = {
    "unschedulable": WaitingCase(
        "Unschedulable", ("pod {job}-worker-0 cannot be scheduled", "4 Insufficient nvidia.com/gpu"), _unschedulable
    ),
    "image not found": _waiting("ErrImagePull", "pull access denied for train:1, repository does not exist"),
    "image not found again": _waiting("ImagePullBackOff", 'Back-off pulling image "train:1"'),
    "image misnamed": _waiting("InvalidImageName", 'couldn\'t parse image name "Train:1"'),
    "config map missing": _waiting("CreateContainerConfigError", 'configmap "settings" not found'),
    "container not creatable": _waiting("CreateContainerError", "context deadline exceeded"),
    "crash loop": WaitingCase(
        "CrashLoopBackOff",
        ("container pytorch of pod {job}-worker-0", "back-off 5m0s", "(last exit code 3)"),
        _worker(_crash_loop),
    ),
    "init container": WaitingCase(
        "InitContainerFailed",
        ("init container init-pytorch of pod {job}-worker-0 exited with 1", "does not resolve"),
        _worker(_init_container(_INIT_FAILED)),
        _init_succeeded,
    ),
    "quota": WaitingCase("QuotaExceeded", ("cannot be created", "exceeded quota: small"), _over_quota, _quota("10")),
    "forbidden": WaitingCase(
        "FailedCreatePod",
        ("cannot be created", 'violates PodSecurity "restricted:latest"'),
        _forbidden,
        _restricted("privileged"),
    ),
    "misspelt field": WaitingCase(
        "FailedCreatePod",
        ("Pod {job}-worker-0 cannot be created", 'unknown field "spec.containers[0].imagePulPolicy"'),
        _template(imagePulPolicy="Always"),
        lambda scenario: scenario.edit_container(),
    ),
    "invalid pod": WaitingCase(
        "FailedCreatePod",
        ("Pod {job}-worker-0 cannot be created", 'spec.containers[0].volumeMounts[0].name: Not found: "data"'),
        _template(volumeMounts=[{"name": "data", "mountPath": "/data"}]),
        lambda scenario: scenario.edit_container(),
    ),
    "pod name taken": WaitingCase(
        "NameTaken",
        ("Pod {job}-worker-0 exists and does not belong to this job: delete or rename it",),
        _foreign("Pod", {"containers": [{"name": "other", "image": "other:1"}]}),
        _removed("pods"),
    ),
    "service name taken": WaitingCase(
        "NameTaken",
        ("Service {job}-worker-0 exists and does not belong to this job: delete or rename it",),
        _foreign("Service", {"clusterIP": "None", "selector": {"app": "other"}}),
        _removed("services"),
    ),
    "invalid edit": WaitingCase(
        "InvalidSpec",
        ("spec.pytorchReplicaSpecs[Worker].restartPolicy: unsupported value 'Sometimes'",),
        _edited,
        lambda scenario: scenario.edit_worker(restartPolicy="OnFailure"),
    ),
}


def _mount_fails(scenario: Scenario) -> None:
    pod = scenario.kubelet.pod(scenario.worker)["metadata"]
    subject = {"apiVersion": "v1", "kind": "Pod", "name": scenario.worker, "namespace": scenario.namespace, "uid": pod["uid"]}
    event = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{scenario.worker}.mount"}, "involvedObject": subject,
        "type": "Warning", "reason": "FailedMount", "count": 1, "firstTimestamp": now(), "lastTimestamp": now(),
        "message": 'MountVolume.SetUp failed for volume "data": mount failed: exit status 32',
    }  # fmt: skip
    scenario.api.create(scenario.namespace, event)


def _stuck_deletion(scenario: Scenario) -> None:
    scenario.submit()
    scenario.run()
    scenario.job.becomes("Running")
    scenario.api.delete("pods", scenario.namespace, scenario.worker, grace=1)


def _replaced(scenario: Scenario) -> None:
    scenario.kubelet.gone(scenario.worker)
    scenario.run()


def _lost_twice(scenario: Scenario) -> None:
    """The first lost pod is replaced at once, the second after a delay."""
    scenario.submit()
    scenario.run()
    scenario.job.becomes("Running")
    lost = scenario.kubelet.pod(scenario.worker)["metadata"]["uid"]
    scenario.kubelet.fail(scenario.worker)
    eventually(lambda: scenario.kubelet.pod(scenario.worker)["metadata"]["uid"] != lost)
    scenario.kubelet.run(scenario.worker)
    eventually(lambda: scenario.job.counts("Worker")["active"] == 1 and scenario.job.is_true("Running"))
    scenario.kubelet.fail(scenario.worker)


SLOW = {
    # The first is reported at once and lasts ten seconds; the others are reported after ten seconds, the last after thirty.
    "back-off": WaitingCase("BackOff", ("pods are re-created at", "after 2 losses in a row"), _lost_twice),
    "mount": WaitingCase(
        "FailedMount", ("pod {job}-worker-0 does not start", 'MountVolume.SetUp failed for volume "data"'), _worker(_mount_fails)
    ),
    "terminating": WaitingCase(
        "StuckTerminating", ("pod {job}-worker-0 on node node-1 is still terminating",), _stuck_deletion, _replaced
    ),
    "unseen": WaitingCase(
        "NotScheduled",
        ("no scheduler has processed pod {job}-master-0: is one running (kube-scheduler, or",),
        Scenario.submit,
    ),
}
