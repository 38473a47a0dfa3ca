"""The pods of a Job, built from its template."""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.jobs import pod_indexes, policies
from traincrew.embedded.controllers.jobs.pod_changes import NewPod
from traincrew.embedded.controllers.pods import TRACKING, Pod

VARIABLE = "JOB_COMPLETION_INDEX"
LONGEST_PREFIX = 58
"""A generated name is five characters longer."""


def pod(job: Object, new_pod: NewPod) -> Object:
    template, meta = job["spec"]["template"], job["metadata"]
    metadata = template.get("metadata") or {}
    owner = {
        "apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    finalizers = [each for each in metadata.get("finalizers") or () if each != TRACKING]
    created: Object = {
        "generateName": f"{meta['name']}-",
        "namespace": meta["namespace"],
        "labels": dict(metadata.get("labels") or {}),
        "annotations": dict(metadata.get("annotations") or {}),
        "finalizers": [*finalizers, TRACKING],
        "ownerReferences": [owner],
    }
    spec = template["spec"]
    if new_pod.index is not None:
        spec = _indexed(spec) | {"hostname": f"{meta['name']}-{new_pod.index}"}
        created["generateName"] = _prefix(meta["name"], new_pod.index)
        created["labels"][pod_indexes.INDEX] = created["annotations"][pod_indexes.INDEX] = str(new_pod.index)
        if job["spec"].get("backoffLimitPerIndex") is not None:
            created["annotations"] |= _counts(job["spec"], new_pod.replaces)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": created, "spec": spec}


def _prefix(name: str, index: int) -> str:
    ending = f"-{index}-"
    return f"{name[: LONGEST_PREFIX - len(ending)]}{ending}"


def _indexed(spec: Object) -> Object:
    groups = [group for group in ("containers", "initContainers") if spec.get(group)]
    return spec | {group: [_with_index_variable(container) for container in spec[group]] for group in groups}


def _with_index_variable(container: Object) -> Object:
    variables = container.get("env") or []
    if any(each["name"] == VARIABLE for each in variables):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{pod_indexes.INDEX}']"}}
    return container | {"env": [*variables, {"name": VARIABLE, "valueFrom": source}]}


def _counts(spec: Object, replaced: Pod | None) -> dict[str, str]:
    counted, ignored = (0, 0) if replaced is None else pod_indexes.failures(replaced)
    if replaced is not None:
        counts = policies.match_failure_policy(spec, replaced).counts
        counted, ignored = (counted + 1, ignored) if counts else (counted, ignored + 1)
    annotations = {pod_indexes.FAILURES: str(counted)}
    return annotations | {pod_indexes.IGNORED: str(ignored)} if ignored else annotations
