"""The schema of a job's status, with the descriptions that `kubectl explain` shows, by path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traincrew.model.status import JobStatus
from traincrew.validation import struct_schema

Schema = dict[str, Any]

_FAILURE = {
    "replica": "Role and index of the replica, such as Worker 1.",
    "pod": "Name of the pod.",
    "uid": "UID of the pod. The pod may be deleted.",
    "node": "Name of the node on which the pod ran.",
    "container": "The container that terminated first.",
    "exitCode": "The exit code of the container.",
    "signal": "The signal behind an exit code above 128; 0 if the process returned the code. Absent: not known.",
    "reason": "The reason that the kubelet or the API server reported.",
    "message": "The termination message of the container, or the end of its log. At most 2 KiB.",
    "cause": "The cause in one line, as far as the message shows it: the exception, or the known fault.",
    "evidence": "The lines of the message that show the cause.",
    "victims": "Replicas that failed because of this one, such as Worker 2. At most 16.",
    "advice": "What to do about the cause.",
    "disruption": "True if the pod was evicted, preempted or deleted, and did not fail.",
    "time": "The time of the failure.",
}
STATUS = {
    "": "The observed state of the job, written by the operator.",
    "conditions": "The conditions of the job. The latest that is True is its state.",
    "conditions.type": "Created, Running, Restarting, Suspended, Succeeded or Failed.",
    "conditions.status": "True, False or Unknown.",
    "conditions.reason": "The reason of the last transition, in CamelCase.",
    "conditions.message": "The details of the last transition.",
    "conditions.lastUpdateTime": "The time of the last update of the condition.",
    "conditions.lastTransitionTime": "The time of the last change of the condition's status.",
    "replicaStatuses": "The number of pods in each state, by replica type.",
    "replicaStatuses.active": "The number of pending and running pods.",
    "replicaStatuses.succeeded": "The number of succeeded replicas, also of those that succeed after the job has finished.",
    "replicaStatuses.failed": "The number of failed replicas.",
    "replicaStatuses.selector": "The label selector of the pods of this type: kubectl get pods -l SELECTOR.",
    "replicaStatuses.completedIndexes": "The indexes of succeeded replicas, such as 0-2,5.",
    "selector": "The label selector of the workers, for the scale subresource.",
    "startTime": "The time at which the operator first reconciled the job.",
    "completionTime": "The time at which the job finished.",
    "lastReconcileTime": "Kept for clients of older operators.",
    "contract": "The API version whose behaviour the job follows, recorded at its first reconcile.",
    "hostPorts": "Host ports of replicas, by replica type. No other job uses them while this job runs.",
    "nameConflicts": "Objects that the job needs and that must not be read, such as Secret/j-ssh, if others have their names.",
    "endedBy": "What ended the job: Success, Replica, BackoffLimit, Deadline or Validation.",
    "failure": "The first failure of the job, not its consequences in other replicas. It is kept after its pod is deleted.",
    **{f"failure.{name}": words for name, words in _FAILURE.items()},
    "lastFailure": "The failure or disruption that ended the latest attempt, if it is not the first failure.",
    **{f"lastFailure.{name}": words for name, words in _FAILURE.items()},
    "restarts": "The restarts of the job. Every lost pod is counted once.",
    "restarts.charged": "Restarts that count against backoffLimit.",
    "restarts.disruptions": "Pods lost by eviction, preemption, node failure or deletion. They never count as restarts.",
    "restarts.entered": "UIDs of lost pods that may still exist.",
    "restarts.open": "True while a pod is lost and not all replicas have run since. Further losses belong to the same attempt.",
    "restarts.streak": "The number of consecutive lost attempts. The backoff grows with it.",
    "restarts.lastLoss": "The time at which the latest attempt was lost.",
    "restarts.youngest": "The creation time of the newest pod of the lost attempt.",
    "restarts.retryAt": "No pod is re-created before this time.",
    "elastic": "The workers of a job with the annotation traincrew.kubeflow.org/scaling.",
    "elastic.scaling": "How the number of workers is chosen: manual (by replicas alone), yield or idle.",
    "elastic.min": "The smallest number of workers.",
    "elastic.wanted": "The number of workers in the spec.",
    "elastic.max": "The largest number of workers.",
    "elastic.members": "The indexes of the workers, such as 0-3,5.",
    "elastic.surplus": "The number of workers above wanted. They use idle capacity only.",
    "elastic.workers": "The number of workers and its bounds, such as 6 (1-16).",
    "elastic.leaving": "Workers that leave the job and whose pods still exist.",
    "elastic.leaving.index": "The index of the worker.",
    "elastic.leaving.reason": "Why it leaves: GaveBack, EvenedOut, Noticed or Resized.",
    "elastic.leaving.for": "Who gets its place.",
    "elastic.leaving.since": "The time since which it leaves.",
    "elastic.leaving.by": "The time at which its pod is killed if it has not ended before. Missing: the pod is not deleted yet.",
    "elastic.why": "Why the job does not have more workers, or why it is scaled by hand.",
    "elastic.why.reason": "A reason in CamelCase, such as AtMaximum, NoRoom or NotShared.",
    "elastic.why.message": "The details, with the remedy.",
    "elastic.why.since": "The time since which the reason applies.",
    "elastic.lastResize": "The last change of the workers.",
    "elastic.lastResize.at": "The time of the change.",
    "elastic.lastResize.from": "The number of workers before.",
    "elastic.lastResize.to": "The number of workers after.",
    "elastic.lastResize.reason": "Grew, GaveBack, EvenedOut, Noticed, Reclaimed or Resized.",
    "elastic.lastResize.message": "The change in one sentence, with the name of the other party.",
    "workerSeconds": "What the workers of such a job did with their time, in worker seconds, up to `until`.",
    "workerSeconds.asked": "Running workers, up to the requested number.",
    "workerSeconds.surplus": "Running workers on idle capacity.",
    "workerSeconds.starting": "Workers on a node that are not ready yet.",
    "workerSeconds.leaving": "Workers that leave and whose pods still exist.",
    "workerSeconds.waiting": "Workers without a node.",
    "workerSeconds.redone": "Of the running time: work since the last checkpoint that was done again, as the job declares it.",
    "workerSeconds.workers": "The number of workers in each part since `until`: add number x passed seconds for present sums.",
    "workerSeconds.resizes": "The number of changes of the number of workers, by reason.",
    "workerSeconds.until": "The time up to which the seconds are summed up.",
    "why": "The reason why the job does not run. Absent while the job runs.",
    "why.reason": "A reason in CamelCase, such as Unschedulable or ErrImagePull.",
    "why.message": "The details, with the name of the pod.",
    "why.since": "The time since which the reason applies.",
}


def status() -> Schema:
    schema = struct_schema.schema(JobStatus)
    _describe(schema, STATUS)
    return schema


def _describe(node: Schema, texts: Mapping[str, str], path: str = "") -> None:
    """In place. The elements of lists and maps have the path of their list or map."""
    if path in texts:
        node["description"] = texts[path]
    inner = node.get("items") or node.get("additionalProperties") or node
    for name, child in inner.get("properties", {}).items():
        _describe(child, texts, f"{path}.{name}" if path else name)
