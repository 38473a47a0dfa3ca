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
    """Field managers of the statuses that it writes: client-go takes the name of the program."""
    lease: str = ""
    """Name of the Lease that it always holds."""

    @property
    def selector(self) -> str:
        return f"{self.pod_labels},{NOT_TRAINCREW}"


TRAINING_OPERATOR = OtherOperator(
    "training-operator", "control-plane=kubeflow-training-operator", ("manager", "training-operator", "training-operator.v1")
)
