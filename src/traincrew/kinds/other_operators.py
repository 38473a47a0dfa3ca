"""The Go operators for the same kinds: how to recognise one that is running. Two operators must not act on one job."""

from __future__ import annotations

import dataclasses

NOT_TRAINCREW = "app.kubernetes.io/name!=traincrew"
"""Label selector. The pods of this operator have labels of the Go operators too, because scripts select them."""


@dataclasses.dataclass(frozen=True)
class OtherOperator:
    name: str
    """The name of its Deployment."""
    pod_labels: str
    """Label selector of its pods."""
    field_managers: tuple[str, ...]
    """Field managers of the statuses that it writes: the name of the program, or that of Go's HTTP client in older versions."""
    lease: str = ""
    """Name of the Lease that it always holds."""
    election: str = ""
    """Name of the Lease that it holds with --leader-elect, unless --leader-election-id names another. Empty: no such flag."""
    webhooks: str = ""
    """Name of the ValidatingWebhookConfiguration for jobs that its manifests install."""
    namespace: str = "kubeflow"
    """The namespace in which its manifests install it."""

    @property
    def selector(self) -> str:
        return f"{self.pod_labels},{NOT_TRAINCREW}"


TRAINING_OPERATOR = OtherOperator(
    "training-operator",
    "control-plane=kubeflow-training-operator",
    ("Go-http-client", "manager", "training-operator"),
    election="1ca428e5.training-operator.kubeflow.org",
    webhooks="validator.training-operator.kubeflow.org",
)
