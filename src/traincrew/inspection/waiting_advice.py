"""Remedies for jobs that wait, by the reason and the message.

A reason selects its remedies, of which the message selects one. The message of a job without a known reason is searched for the
known reasons first. Messages contain names of pods and objects, so a pattern has words that no name has: a space, a capital.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from traincrew.kinds import KINDS
from traincrew.model import resources
from traincrew.model.resources import Resource

_ADDED = "|".join(name for kind in KINDS for name in kind.wait_containers)
"""The init containers that the operator adds."""


class MessageRemedy(NamedTuple):
    pattern: str
    """Of the message. `{name}` in the remedy is its group of that name."""
    remedy: str


class Remedies(NamedTuple):
    default: str
    by_message: tuple[MessageRemedy, ...] = ()


_SCHEDULING = (
    MessageRemedy(r"Insufficient .*traincrew up --device",
                  "Request fewer devices or fewer replicas, or declare devices as the message says."),
    MessageRemedy(r"Insufficient (?:nvidia|[\w./-]*gpu)",
                  "Request fewer GPUs or fewer replicas. On one machine, declare devices with "
                  "`traincrew up --device NAME=COUNT`."),
    MessageRemedy(r"Insufficient memory",
                  "Lower the memory requests. On one machine, `traincrew up --overcommit memory` allows overcommitment."),
    MessageRemedy(r"Insufficient cpu", "Lower the CPU requests or the number of replicas, or wait until other jobs finish."),
    MessageRemedy(r"Insufficient ", "Lower the request, or wait until other jobs finish."),
    MessageRemedy(r"didn't match Pod's node affinity|didn't match .*selector",
                  "Compare nodeSelector and affinity with `kubectl get nodes --show-labels`."),
    MessageRemedy(r"untolerated taint", "Add a toleration, or remove the taint with `kubectl taint`."),
    MessageRemedy(r"unbound immediate PersistentVolumeClaims|persistentvolumeclaim \"", "Check the claim: `kubectl get pvc,pv`."),
    MessageRemedy(r"didn't match pod (?:anti-)?affinity rules|didn't satisfy .*affinity",
                  "Compare podAffinity and podAntiAffinity with the pods of the nodes: "
                  "`kubectl get pods -A -o wide --show-labels`."),
)  # fmt: skip
_IMAGE = (
    MessageRemedy(rf"\bcontainer (?:{_ADDED}) ",
                  "The operator adds this container. Set its image with the operator's flag --init-image, "
                  "or make its registry reachable."),
)  # fmt: skip
_CONFIG = (
    MessageRemedy(r"\(runAsUser\) may not use .*Run (?P<command>`chmod [^`]*`)",
                  "Run {command}, use an environment outside of that directory (--env-dir DIR or --requirements FILE), "
                  "or remove runAsUser."),
    MessageRemedy(r"runAsNonRoot|breaks non-root policy",
                  "Set securityContext.runAsUser to a user other than 0, or remove runAsNonRoot."),
    MessageRemedy(r"configmap \"|secret \"|find key ",
                  "Create the ConfigMap or Secret, or the key of it, that the message names."),
)  # fmt: skip
_COMMAND = (
    MessageRemedy(r"and the container names none",
                  "Set `command` of the container, or the ENTRYPOINT of the image: "
                  "`traincrew image set IMAGE --command 'PROGRAM'`."),
)  # fmt: skip

_PULL = Remedies("Check the image name. On one machine, map it with `traincrew image set PATTERN --env-dir DIR`.", _IMAGE)
_START = Remedies("Check the command and that it is in the PATH of the image's environment.", _COMMAND)
_SCHEDULE = Remedies("Compare the requests of the pod with the nodes: `kubectl describe nodes`.", _SCHEDULING)
_MOUNT = Remedies(
    "Create what the message names (ConfigMap, Secret, claim or directory), or correct the volume.",
    (MessageRemedy(r"configmap \"|secret \"", "Create the ConfigMap or Secret that the message names."),
     MessageRemedy(r"persistentvolumeclaim \"", "Check the claim: `kubectl get pvc,pv`.")),
)  # fmt: skip
_SANDBOX = Remedies(
    "Check the network plugin and the container runtime of the node: `kubectl describe nodes`. "
    "On one machine, run `traincrew doctor`."
)
_CREATE = Remedies(
    "Check the message of the API server: rights, quotas and admission webhooks.",
    (MessageRemedy(r"unknown field|strict decoding error",
                   "Correct the field that the message names, and create the job again: "
                   "`traincrew validate FILE` prints every error with its line."),),
)  # fmt: skip
_HOOK = Remedies("Correct the command of lifecycle.postStart: it must end with exit code 0.")
_SPEC = Remedies("Fix the manifest: `traincrew validate FILE` prints every error with its line.")
_BACKOFF_LIMIT = Remedies(
    "Fix the cause of the failures, or raise backoffLimit. The pods are deleted; `traincrew logs {job}` shows stored logs."
)
_DEADLINE = Remedies("Raise activeDeadlineSeconds, or make the job faster.")
_INIT = Remedies("Check its log: `traincrew logs {job} --container NAME`.")

BY_REASON: dict[str, Remedies] = {
    # Ours.
    "BackOff": Remedies("Wait for the retry, or fix the cause of the failures: `traincrew logs {job} --previous`."),
    "BackoffLimitExceeded": _BACKOFF_LIMIT,
    "DeadlineExceeded": _DEADLINE,
    "InitContainerFailed": _INIT,
    "InvalidSpec": _SPEC,
    "NameTaken": Remedies("Delete or rename the existing object."),
    "NoHostPorts": Remedies("Wait until other jobs finish, or give the operator more ports: --host-ports."),
    "NoLauncherPod": Remedies("Check the events of the launcher's Job: `kubectl describe jobs`."),
    "NodeMayBeLost": Remedies("Wait until the time that the message names, and check the nodes: `kubectl get nodes`."),
    "NodeUnreachable": Remedies(
        "Check the node: `kubectl get nodes`. If it is gone for good, delete its pods: `kubectl delete pod NAME --force`."
    ),
    "NotScheduled": Remedies(
        "Check that a scheduler is running: `traincrew status`, `kubectl get pods -n kube-system`."
    ),
    "NotStarted": Remedies("Check the events of the pod: `traincrew describe {job}`."),
    "NothingToRun": Remedies("Add a replica of the role that the message names."),
    "PodsStillRunning": Remedies(
        "Set cleanPodPolicy to Running, so that the pods of a finished job end, or delete the job: `traincrew delete {job}`."
    ),
    "QuotaExceeded": Remedies("Lower the requests or free quota: `kubectl describe quota`."),
    "ReplicaFailed": Remedies(
        "Check its log: `traincrew logs {job}`. A restartPolicy other than Never restarts failed replicas."
    ),
    "StuckTerminating": Remedies("If its node is gone, run `kubectl delete pod NAME --grace-period=0 --force`."),
    "WaitingForGang": Remedies("All pods of the gang must fit at once. Free resources or lower minAvailable."),
    "WaitingForWorkers": Remedies("Check the workers that are not ready: `traincrew describe {job}`."),
    **{f"FailedCreate{each.kind}": _CREATE for each in vars(resources).values() if isinstance(each, Resource)},
    # Of schedulers.
    "FailedScheduling": _SCHEDULE,
    "SchedulerError": Remedies("Wait until the scheduler tries again. If the message stays, check the scheduler's log."),
    "SchedulingGated": Remedies("Wait until the controller that set the scheduling gates removes them."),
    "Unschedulable": _SCHEDULE,
    # Of kubelets, for images.
    "ErrImageNeverPull": Remedies("Set imagePullPolicy to IfNotPresent, or load the image on the node.", _IMAGE),
    "ErrImagePull": _PULL,
    "ImageInspectError": Remedies("Check the image on the node, or delete it there so that it is pulled again.", _IMAGE),
    "ImagePullBackOff": _PULL,
    "InspectFailed": _PULL,
    "InvalidImageName": _PULL,
    "RegistryUnavailable": Remedies("Make the registry of the image reachable from the node.", _IMAGE),
    "SignatureValidationFailed": Remedies("Sign the image, or use one that the policy of the node accepts.", _IMAGE),
    # Of kubelets, for containers.
    "CrashLoopBackOff": Remedies("Check the last run: `traincrew logs {job} --previous`."),
    "CreateContainerConfigError": Remedies(
        "Correct what the message names: a ConfigMap or Secret, a volumeMount or the securityContext.", _CONFIG
    ),
    "CreateContainerError": Remedies(
        "Correct command, workingDir or volumeMounts of the container, as the message says.", _COMMAND
    ),
    "FailedPostStartHook": _HOOK,
    "FailedPreStopHook": Remedies("Correct the command of lifecycle.preStop: it must end with exit code 0."),
    "PostStartHookError": _HOOK,
    "RunContainerError": _START,
    "StartError": _START,
    "Unhealthy": Remedies("Check the probe, and the log of the container: `traincrew logs {job}`."),
    # Of kubelets and controllers, for volumes and sandboxes.
    "FailedAttachVolume": Remedies("Check where the volume is attached: `kubectl get volumeattachments`, `kubectl describe pv`."),
    "FailedBinding": Remedies("Check the claim: `kubectl get pvc,pv`."),
    "FailedCreatePodSandBox": _SANDBOX,
    "FailedMapVolume": _MOUNT,
    "FailedMount": _MOUNT,
    "NetworkNotReady": _SANDBOX,
}  # fmt: skip

_WITHOUT_REASON: tuple[MessageRemedy, ...] = (
    *_SCHEDULING, *_CONFIG, *_COMMAND,
    MessageRemedy(r"Failed to pull image", _PULL.default),
    MessageRemedy(r"reached the specified backoff limit", _BACKOFF_LIMIT.default),
    MessageRemedy(r"active longer than specified deadline", _DEADLINE.default),
    MessageRemedy(r"exceeded quota", BY_REASON["QuotaExceeded"].default),
    MessageRemedy(r"init container ", _INIT.default),
    MessageRemedy(r": unschedulable: ", _SCHEDULE.default),
    MessageRemedy(r"FailedValidation|ValidationError", _SPEC.default),
)  # fmt: skip
"""For messages without a known reason."""
_KNOWN = re.compile(rf"\b(?:{'|'.join(BY_REASON)})\b")


def on_waiting(reason: str, message: str, job: str) -> str:
    remedies = BY_REASON.get(reason)
    if remedies is None and (found := _KNOWN.search(message)):
        remedies = BY_REASON[found[0]]
    if remedies is not None:
        remedy = _by_message(remedies.by_message, message) or remedies.default
    else:
        remedy = _by_message(_WITHOUT_REASON, f"{reason} {message}")
    return (remedy or "Check the events of the job and its pods: `traincrew describe {job}`.").replace("{job}", job)


def _by_message(remedies: Iterable[MessageRemedy], message: str) -> str:
    found = ((each.remedy, re.search(each.pattern, message)) for each in remedies)
    return next((_filled(remedy, match.groupdict()) for remedy, match in found if match), "")


def _filled(remedy: str, groups: Mapping[str, str]) -> str:
    for name, value in groups.items():
        remedy = remedy.replace(f"{{{name}}}", value)
    return remedy
