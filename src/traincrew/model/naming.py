"""Names, labels and addresses. They are functions of the job, so that objects are never created twice."""

from __future__ import annotations

from traincrew.apimachinery import selectors

PREFIX = "training.kubeflow.org/"
OPERATOR_NAME = PREFIX + "operator-name"
JOB_NAME = PREFIX + "job-name"
REPLICA_TYPE = PREFIX + "replica-type"
REPLICA_INDEX = PREFIX + "replica-index"
JOB_ROLE = PREFIX + "job-role"

WATCH_LABEL = JOB_NAME
"""The label that selects all objects that the operator watches."""

CONFIG_DIGEST = "traincrew.kubeflow.org/config-digest"
"""Annotation on a launcher pod. A change makes the kubelet refresh the mounted files at once."""
LEAVING_SINCE = "traincrew.kubeflow.org/leaving-since"
"""Annotation on a pod whose worker was removed from the host list: the time. The pod is deleted after the drain."""
REPLICA_REMOVED_AT = "traincrew.kubeflow.org/replica-removed-at"
"""Annotation on a pod that remains after a scale-down: the time."""
REPLACES_LOST_POD = "traincrew.kubeflow.org/returned"
"""Annotation on a pod that replaces a lost pod of the same name: the number of losses of the job at its creation."""

SCALING = "traincrew.kubeflow.org/scaling"
"""Annotation on a job: `manual`, `yield` or `idle`."""
SIZES = "traincrew.kubeflow.org/sizes"
"""Annotation on a job: the numbers of workers with which it may run, such as `1,2,4`."""
CHECKPOINT_SECONDS = "traincrew.kubeflow.org/checkpoint-seconds"
"""Annotation on a job: the time between two checkpoints."""
START_SECONDS = "traincrew.kubeflow.org/start-seconds"
"""Annotation on a job: the time from the start of its processes until they are connected to each other."""
NOTICES = "traincrew.kubeflow.org/notices"
"""Annotation on a job: `true` shows its programs a file while workers are about to leave."""
NOTICE_SECONDS = "traincrew.kubeflow.org/notice-seconds"
"""Annotation on a job: how long a worker that restarts the others by leaving stays after the notice."""
NOTICE = "traincrew.kubeflow.org/notice"
"""Annotation on the pods of such a job: the content of the file."""
WEIGHT = "traincrew.kubeflow.org/weight"
"""Annotation on a job: its part of idle capacity relative to jobs of the same priority."""
SURPLUS = "traincrew.kubeflow.org/surplus"
"""Label of pods above the number of workers that the job asks for. They use idle capacity."""
SURPLUS_QUEUE = "traincrew.kubeflow.org/surplus-queue"
"""Annotation on a job that Kueue admits: the LocalQueue of its workers on idle capacity, in place of the queue of the job."""
ORDERLY = "traincrew.kubeflow.org/leaves-orderly"
"""Annotation on a pod whose preStop hook waits until its job continues without it."""

REPORTED_OBJECTS = "traincrew.kubeflow.org/objects"
"""Annotation on an event: the first digits of the UIDs of the objects in its message."""


def replica(job: str, role: str, index: int) -> str:
    return f"{job}-{role.lower()}-{index}".replace("/", "-")


def service_host(name: str, namespace: str, domain: str = "") -> str:
    return f"{name}.{namespace}.svc" + (f".{domain}" if domain else "")


def pod_host(name: str, subdomain: str, namespace: str, domain: str = "") -> str:
    return f"{name}.{subdomain}.{namespace}.svc" + (f".{domain}" if domain else "")


def selector(labels: dict[str, str]) -> str:
    return selectors.format_labels(labels)
