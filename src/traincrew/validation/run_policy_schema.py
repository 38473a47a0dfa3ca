"""The schema of RunPolicy, and of its legacy fields in the spec."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

INT32 = {"type": "integer", "format": "int32"}
INT64 = {"type": "integer", "format": "int64"}
STRING = {"type": "string"}

_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY = {
    "x-kubernetes-int-or-string": True,
    "pattern": rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$",
}


def run_policy() -> Schema:
    """The default is required: the Python SDK cannot decode a job without runPolicy."""
    return {
        "type": "object",
        "default": {},
        "description": "The policy for the runtime and the end of the job.",
        "properties": {
            **_termination_fields(),
            "schedulingPolicy": _scheduling_policy(),
            "suspend": {
                "type": "boolean",
                "default": False,
                "description": "If true, the job has no pods.",
            },
            "managedBy": {
                **STRING,
                "description": "The controller of the job. Default: kubeflow.org/training-operator (this operator). Immutable.",
            },
        },
    }


def legacy() -> Schema:
    """The fields at their location in the first operators. Those in runPolicy take precedence."""
    return {name: {**node, "description": f"Deprecated: use runPolicy.{name}."} for name, node in _termination_fields().items()}


def _termination_fields() -> Schema:
    return {
        "cleanPodPolicy": {**STRING, "description": "The pods that are deleted when the job finishes: None, Running or All."},
        "ttlSecondsAfterFinished": {**INT32, "description": "Seconds after which a finished job is deleted."},
        "activeDeadlineSeconds": {**INT64, "description": "Seconds after which a running job fails."},
        "backoffLimit": {**INT32, "description": "The number of restarts after which the job fails."},
    }


def _scheduling_policy() -> Schema:
    return {
        "type": "object",
        "description": "The policy for gang scheduling of the pods.",
        "properties": {
            "minAvailable": {**INT32, "description": "The number of pods that must be scheduled together. Default: all pods."},
            "queue": {**STRING, "description": "The queue of the gang scheduler. Immutable once set."},
            "minResources": {
                "type": "object",
                "additionalProperties": QUANTITY,
                "description": "The resources that must be free for the pods. Default: those of minAvailable pods.",
            },
            "priorityClass": {**STRING, "description": "The priority class of the gang. Default: that of the pods."},
            "scheduleTimeoutSeconds": {**INT32, "description": "Seconds in which the gang must be scheduled."},
        },
    }
