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
    """It has a default because the Python SDK cannot decode a job without it."""
    return {
        "type": "object",
        "default": {},
        "description": "How the job as a whole is run and ended.",
        "properties": {
            **_termination_fields(),
            "schedulingPolicy": _scheduling_policy(),
            "suspend": {
                "type": "boolean",
                "default": False,
                "description": "True: the job has no pods until this becomes false.",
            },
            "managedBy": {
                **STRING,
                "description": "Who runs the job; unset or kubeflow.org/training-operator: this operator. Cannot be changed.",
            },
        },
    }


def legacy() -> Schema:
    """The fields at their location in the first operators. Those in runPolicy take precedence."""
    return {
        name: {**node, "description": f"The older place of runPolicy.{name}."} for name, node in _termination_fields().items()
    }


def _termination_fields() -> Schema:
    return {
        "cleanPodPolicy": {**STRING, "description": "Pods to delete when the job has ended: None, Running or All."},
        "ttlSecondsAfterFinished": {**INT32, "description": "The job is deleted this long after it has ended."},
        "activeDeadlineSeconds": {**INT64, "description": "A job that runs longer than this fails."},
        "backoffLimit": {**INT32, "description": "Restarts after which the job fails."},
    }


def _scheduling_policy() -> Schema:
    return {
        "type": "object",
        "description": "How a gang scheduler treats the job's pods.",
        "properties": {
            "minAvailable": {**INT32, "description": "Pods that must be placed together; all of them if unset."},
            "queue": {**STRING, "description": "Cannot be changed once set."},
            "minResources": {"type": "object", "additionalProperties": QUANTITY},
            "priorityClass": STRING,
            "scheduleTimeoutSeconds": INT32,
        },
    }
