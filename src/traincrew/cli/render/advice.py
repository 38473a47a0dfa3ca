"""What to do about it: by what a job waits for, and by how its container ended."""

from __future__ import annotations

import re
import shlex

from traincrew.model.status import Failure

_WAITING: tuple[tuple[str, str], ...] = (
    (r"Insufficient nvidia|Insufficient [\w.-]*gpu",
     "ask for fewer GPUs per replica or fewer replicas; on one machine `traincrew up --device NAME=COUNT` declares more"),
    (r"Insufficient memory",
     "lower the memory requests; on one machine `traincrew up --overcommit memory` allows more than there is"),
    (r"Insufficient cpu", "lower the CPU requests or the number of replicas, or wait until others have ended"),
    (r"Insufficient", "lower that request, or wait until others have ended"),
    (r"didn't match|node affinity|node selector", "compare nodeSelector and affinity with `kubectl get nodes --show-labels`"),
    (r"untolerated taint", "add a toleration, or remove the taint with `kubectl taint`"),
    (r"unbound|persistentvolumeclaim|PersistentVolumeClaim", "look at the claim: `kubectl get pvc,pv`"),
    (r"ErrImagePull|ImagePullBackOff|InvalidImageName",
     "check the image's name; on one machine `traincrew image set PATTERN --env DIR` says what stands for it"),
    (r"CreateContainerConfigError|FailedMount|configmap|secret",
     "make the config map, secret or volume that the message names"),
    (r"executable file not found|no such file or directory|RunContainerError|StartError",
     "check the command, and that the image's environment has it in its PATH"),
    (r"CrashLoopBackOff", "look at how it ended: `traincrew logs {job} --previous`"),
    (r"InitContainerFailed|init container", "look at its log: `traincrew logs {job} --container NAME`"),
    (r"QuotaExceeded|exceeded quota", "free some of the quota, or ask for less: `kubectl describe quota`"),
    (r"NameTaken", "delete or rename the object that is in the way"),
    (r"WaitingForGang|PodGroup", "the whole job must fit at once: free resources, or lower minAvailable"),
    (r"NotScheduled|any scheduler", "see that a scheduler runs: `traincrew status`, or `kubectl get pods -n kube-system`"),
    (r"StuckTerminating", "if its node is gone: `kubectl delete pod NAME --grace-period=0 --force`"),
    (r"NodeUnreachable", "see to the node: `kubectl get nodes`"),
    (r"Validation|Invalid", "mend the manifest: `traincrew validate FILE` tells every fault with its line"),
)  # fmt: skip

_CODES = {
    126: "the command is there but cannot be run: check its mode and its first line",
    127: "the command was not found: check its name, and that the image's environment has it in its PATH",
    132: "a processor instruction is missing (illegal instruction): use a build for this machine's CPU",
    134: "the process gave up by itself (SIGABRT): its last lines say why",
    137: "the process was killed: by somebody, by a liveness probe, or for want of memory on the machine",
    139: "the process crashed (segmentation fault): a library's build may not fit this machine or the others",
    143: "the process was asked to end (SIGTERM): by a deletion, an eviction or a deadline",
}
_OOM = "it used more memory than its limit: raise resources.limits.memory, or use a smaller batch"
_PYTHON: tuple[tuple[str, str], ...] = (
    (r"ModuleNotFoundError: No module named '([^']+)'",
     "install {0} in {environment}"),
    (r"Distributed package doesn't have (\w+) built in",
     "this PyTorch was built without {0}: use the backend gloo, which every PyTorch has, or an image that was built with {0}"),
    (r"RendezvousConnectionError",
     "the replica was lost at which torchrun's agents meet, worker-0 unless rdzvHost says otherwise: look how that one ended"),
    (r"executable file not found", "check the command's name, and that the image's environment has it in its PATH"),
    (r"FileNotFoundError|No such file or directory",
     "see whether there is such a file; if so, whether its directory is mounted: the path is looked for inside the pod"),
    (r"Address already in use", "two processes of one pod want the same port"),
    (r"Permission denied|PermissionError", "check the user that the pod runs as, and the modes of what it writes to"),
    (r"Connection refused|Connection timed out|Name or service not known",
     "a replica was not there yet or had ended: look which one failed first"),
    (r"CUDA out of memory|OutOfMemoryError", "the GPU's memory is too small for this: use a smaller batch"),
)  # fmt: skip


def on_waiting(reason: str, message: str, job: str) -> str:
    for pattern, remedy in _WAITING:
        if re.search(pattern, f"{reason} {message}"):
            return remedy.replace("{job}", job)
    return ""


_STANDS_IN = re.compile(r'Image "([^"]+)" is not pulled: the (?:default )?environment (.+?)(?: \(images .*\))? stands in for it')


def environment(said: str) -> str:
    """What a pod runs in, by the node's words about its image, and how to change that."""
    if not (found := _STANDS_IN.match(said)):
        return "the environment that stands for the image, or choose another image"
    image, directory = found.groups()
    install = f"`{shlex.quote(f'{directory}/bin/python')} -m pip install PACKAGE`"
    other = f"`traincrew image set {shlex.quote(image)} --env DIR`; `make framework-torch` and the like build some"
    return f"{directory}, which stands for image {image} ({install}), or name another one for it ({other})"


def on_failure(failure: Failure, last_lines: str, said: str = "") -> str:
    """The most telling remedy; empty if only the log can tell. said: what the node said about the image."""
    if failure.disruption:
        return "it was taken away, which is not charged to the job; it is made again unless the job has ended"
    if failure.reason == "OOMKilled":
        return _OOM
    for pattern, remedy in _PYTHON:
        if found := re.search(pattern, last_lines):
            return remedy.format(*found.groups(), environment=environment(said))
    return _CODES.get(failure.exit_code or 0, "")
