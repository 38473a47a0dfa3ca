"""Remedies, by the reason why a job is waiting and by how a container ended."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from traincrew.kinds import KINDS
from traincrew.model.status import Failure

_ADDED = "|".join(name for kind in KINDS for name in kind.wait_containers)
"""The init containers that the operator adds."""

_WAITING: tuple[tuple[str, str], ...] = (
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
    (r"StuckTerminating", "If its node is gone, run `kubectl delete pod NAME --grace-period=0 --force`."),
    (r"NodeUnreachable", "Check the node: `kubectl get nodes`."),
    (r"Validation|Invalid", "Fix the manifest: `traincrew validate FILE` prints every error with its line."),
)  # fmt: skip

_CODES = {
    126: "The command is not executable. Check its mode and its first line.",
    127: "The command was not found. Check its name and the PATH of the image's environment.",
    132: "The CPU does not support an instruction (SIGILL). Use a build for this CPU.",
    134: "The process aborted (SIGABRT). Check its last lines.",
    137: "The process was killed (SIGKILL): by a user, by a liveness probe or because the machine ran out of memory.",
    139: "The process crashed (SIGSEGV). Check that its libraries are built for this machine and fit each other.",
    143: "The process was terminated (SIGTERM): by a deletion, an eviction or a deadline.",
}
_OOM = "The container exceeded its memory limit. Raise resources.limits.memory or use a smaller batch."
_MISSING_MODULE = r"ModuleNotFoundError: No module named '([^']+)'"
_LOG_PATTERNS: tuple[tuple[str, str], ...] = (
    (_MISSING_MODULE,
     "Install {0} in {environment}."),
    (r"Distributed package doesn't have (\w+) built in",
     "This PyTorch was built without {0}. Use the gloo backend or an image that was built with {0}."),
    (r"RendezvousConnectionError",
     "The rendezvous host of torchrun was lost (worker-0 unless rdzvHost is set). Check how it ended."),
    (r"executable file not found", "Check the name of the command and the PATH of the image's environment."),
    (r"FileNotFoundError|No such file or directory",
     "Check that the file exists and that its directory is mounted: the path is resolved inside the pod."),
    (r"Address already in use", "Give each process of the pod a port of its own."),
    (r"Permission denied|PermissionError", "Check the user of the pod and the permissions of the files it writes."),
    (r"Connection refused|Connection timed out|Name or service not known",
     "Another replica was not running. Check which replica failed first."),
    (r"CUDA out of memory|OutOfMemoryError", "The GPU is out of memory. Use a smaller batch."),
)  # fmt: skip


def on_waiting(reason: str, message: str, job: str) -> str:
    for pattern, remedy in _WAITING:
        if re.search(pattern, f"{reason} {message}"):
            return remedy.replace("{job}", job)
    return ""


_ENVIRONMENT = re.compile(r'Image "([^"]+)".*?\benvironment (/.+?)(?= \(images | stands | runs |[;.,](?: |$)|$)')


def environment(image_message: str) -> str:
    """The environment of a pod, from the kubelet's message about its image, and how to change it."""
    if not (match := _ENVIRONMENT.match(image_message)):
        return "the environment of the image, or use another image"
    image, directory = match.groups()
    install = f"`{shlex.quote(f'{directory}/bin/python')} -m pip install PACKAGE`"
    other = f"`traincrew image set {shlex.quote(image)} --env-dir DIR`; see docs/frameworks.md"
    return f"{directory}, the environment of image {image} ({install}), or map the image to another environment ({other})"


def missing_module(last_lines: str) -> str:
    """The module that Python did not find; empty if there is none."""
    match = re.search(_MISSING_MODULE, last_lines)
    return match[1] if match else ""


def _image_with_module(images: Sequence[str]) -> str:
    if not images:
        return ""
    return f" Image {images[0]} has it: use `traincrew run --image {images[0]}`, or `image: {images[0]}` in the manifest."


def on_failure(failure: Failure, last_lines: str, image_message: str = "", images: Sequence[str] = ()) -> str:
    """The most specific remedy; empty if there is none.

    image_message: the kubelet's message about the image. images: images of this machine that have the module that is missing.
    """
    if failure.disruption:
        return "The pod was disrupted. This does not count as a failure of the job, and a running job recreates the pod."
    if failure.reason == "OOMKilled":
        return _OOM
    for pattern, remedy in _LOG_PATTERNS:
        if match := re.search(pattern, last_lines):
            advice = remedy.format(*match.groups(), environment=environment(image_message))
            return advice + (_image_with_module(images) if pattern == _MISSING_MODULE else "")
    return _CODES.get(failure.exit_code or 0, "")
