"""Remedies, by the reason why a job is waiting and by how a container ended."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from traincrew.diagnosis.cause import Diagnosis
from traincrew.kinds import KINDS
from traincrew.model.status import Failure

LOCAL_IMAGE = "traincrew.local/default"
"""The image of jobs that are generated from a command: it runs in the environment of the caller."""
_ADDED = "|".join(name for kind in KINDS for name in kind.wait_containers)
"""The init containers that the operator adds."""

_WAITING: tuple[tuple[str, str], ...] = (
    (r"Insufficient .*traincrew up --device", "Request fewer devices or fewer replicas, or declare devices as the message says."),
    (r"Insufficient nvidia|Insufficient [\w.-]*gpu",
     "Request fewer GPUs or fewer replicas. On one machine, declare devices with `traincrew up --device NAME=COUNT`."),
    (r"Insufficient memory",
     "Lower the memory requests. On one machine, `traincrew up --overcommit memory` allows overcommitment."),
    (r"Insufficient cpu", "Lower the CPU requests or the number of replicas, or wait until other jobs finish."),
    (r"Insufficient", "Lower the request, or wait until other jobs finish."),
    (r"didn't match|node affinity|node selector", "Compare nodeSelector and affinity with `kubectl get nodes --show-labels`."),
    (r"untolerated taint", "Add a toleration, or remove the taint with `kubectl taint`."),
    (r"unbound|persistentvolumeclaim|PersistentVolumeClaim", "Check the claim: `kubectl get pvc,pv`."),
    (rf"(?:ErrImagePull|ImagePullBackOff|InvalidImageName) container (?:{_ADDED}) ",
     "The operator adds this container. Set its image with the operator's flag --init-image, or make its registry reachable."),
    (r"ErrImagePull|ImagePullBackOff|InvalidImageName",
     "Check the image name. On one machine, map it with `traincrew image set PATTERN --env-dir DIR`."),
    (r"CreateContainerConfigError|FailedMount|configmap|secret",
     "Create the ConfigMap, Secret or volume that the message names."),
    (r"executable file not found|no such file or directory|RunContainerError|StartError",
     "Check the command and that it is in the PATH of the image's environment."),
    (r"CrashLoopBackOff", "Check the last run: `traincrew logs {job} --previous`."),
    (r"InitContainerFailed|init container", "Check its log: `traincrew logs {job} --container NAME`."),
    (r"QuotaExceeded|exceeded quota", "Lower the requests or free quota: `kubectl describe quota`."),
    (r"NameTaken", "Delete or rename the existing object."),
    (r"WaitingForGang|PodGroup", "All pods of the gang must fit at once. Free resources or lower minAvailable."),
    (r"NotScheduled|any scheduler", "Check that a scheduler is running: `traincrew status`, `kubectl get pods -n kube-system`."),
    (r"NoHostPorts", "Wait until other jobs finish, or give the operator more ports: --host-ports."),
    (r"DeadlineExceeded|active longer than specified deadline", "Raise activeDeadlineSeconds, or make the job faster."),
    (r"BackoffLimitExceeded|reached the specified backoff limit",
     "Fix the cause of the failures, or raise backoffLimit. The pods are deleted; `traincrew logs {job}` shows kept logs."),
    (r"BackOff\b", "Wait for the retry, or fix the cause of the failures: `traincrew logs {job} --previous`."),
    (r"NotStarted", "Check the events of the pod: `traincrew describe {job}`."),
    (r"ReplicaFailed", "Check its log: `traincrew logs {job}`. A restartPolicy other than Never restarts failed replicas."),
    (r"NothingToRun", "Add a replica of the role that the message names."),
    (r"WaitingForWorkers", "Check the workers that are not ready: `traincrew describe {job}`."),
    (r"NoLauncherPod", "Check the events of the launcher's Job: `kubectl describe jobs`."),
    (r"PodsStillRunning", "Set cleanPodPolicy to Running to end them, or delete the job: `traincrew delete {job}`."),
    (r"FailedCreate", "Check the message of the API server: rights, quotas and admission webhooks."),
    (r"SchedulingGated", "Wait until the controller that set the scheduling gates removes them."),
    (r"StuckTerminating", "If its node is gone, run `kubectl delete pod NAME --grace-period=0 --force`."),
    (r"NodeUnreachable",
     "Check the node: `kubectl get nodes`. If it is gone for good, delete its pods: `kubectl delete pod NAME --force`."),
    (r"[Uu]nschedulable|cannot be scheduled", "Compare the requests of the pod with the nodes: `kubectl describe nodes`."),
    (r"Validation|Invalid", "Fix the manifest: `traincrew validate FILE` prints every error with its line."),
)  # fmt: skip


def on_waiting(reason: str, message: str, job: str) -> str:
    for pattern, remedy in _WAITING:
        if re.search(pattern, f"{reason} {message}"):
            return remedy.replace("{job}", job)
    return f"Check the events of the job and its pods: `traincrew describe {job}`."


def on_unfinished(job: str) -> str:
    """A process that printed an exception and does not exit."""
    return (
        f"Fix the exception. The process waits for other replicas before it exits, as that of jax.distributed does for five "
        f"minutes, or for a thread of its own: `traincrew stacks {job}` shows where. `traincrew delete {job}` ends the job."
    )


_ENVIRONMENT = re.compile(r'Image "([^"]+)".*?\benvironment (/.+?)(?= \(images | stands | runs |[;.,](?: |$)|$)')


def environment(image_message: str) -> str:
    """The environment of a pod, from the kubelet's message about its image, and how to change it."""
    if not (match := _ENVIRONMENT.match(image_message)):
        return "the environment of the image, or use another image"
    image, directory = match.groups()
    install = f"`{shlex.quote(f'{directory}/bin/python')} -m pip install PACKAGE`"
    if image == LOCAL_IMAGE:
        return f"{directory} ({install}), or run the job in another environment: --env-dir DIR or --requirements FILE"
    other = f"`traincrew image set {shlex.quote(image)} --env-dir DIR`; see docs/frameworks.md"
    return f"{directory}, the environment of image {image} ({install}), or map the image to another environment ({other})"


def _image_with_module(images: Sequence[str]) -> str:
    if not images:
        return ""
    return f" Image {images[0]} has it: use `traincrew run --image {images[0]}`, or `image: {images[0]}` in the manifest."


def on_failure(failure: Failure, diagnosis: Diagnosis | None, image_message: str = "", images: Sequence[str] = ()) -> str:
    """The most specific remedy.

    image_message: the kubelet's message about the image. images: images of this machine that have the module that is missing.
    """
    if failure.disruption:
        return (
            "Check the node, and who deleted the pod. A disruption does not count as a failure: a running job recreates the pod."
        )
    if diagnosis is None:
        return failure.advice
    if diagnosis.recognizer == "missing-module" and (module := diagnosis.details.get("module")):
        return f"Install {module} in {environment(image_message)}.{_image_with_module(images)}"
    return diagnosis.advice
