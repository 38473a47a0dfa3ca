"""Names, labels and addresses: functions of the job, so that creating twice is harmless."""

from __future__ import annotations

PREFIX = "training.kubeflow.org/"
OPERATOR_NAME = PREFIX + "operator-name"
JOB_NAME = PREFIX + "job-name"
REPLICA_TYPE = PREFIX + "replica-type"
REPLICA_INDEX = PREFIX + "replica-index"
JOB_ROLE = PREFIX + "job-role"

OURS = JOB_NAME
"""The label whose presence selects everything that any of our watches looks at."""

CONFIG_DIGEST = "traincrew.kubeflow.org/config-digest"
"""Annotation on a launcher pod: changing it makes a kubelet refresh the mounted files at once."""
LEAVING_SINCE = "traincrew.kubeflow.org/leaving-since"
RETURNED = "traincrew.kubeflow.org/returned"
"""Annotation on a pod that may have been there before, under the same name: how many losses the job had when it was made."""

TOLD_OBJECTS = "traincrew.kubeflow.org/objects"
"""Annotation on an event: the first digits of the UIDs of the objects that it speaks of."""


def replica(job: str, role: str, index: int) -> str:
    return f"{job}-{role.lower()}-{index}".replace("/", "-")


def service_host(name: str, namespace: str, domain: str = "") -> str:
    return f"{name}.{namespace}.svc" + (f".{domain}" if domain else "")


def pod_host(name: str, subdomain: str, namespace: str, domain: str = "") -> str:
    return f"{name}.{subdomain}.{namespace}.svc" + (f".{domain}" if domain else "")


def selector(labels: dict[str, str]) -> str:
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))
