"""The operator in its own image."""

from __future__ import annotations

from tests.kubelet.installed_operator import InstalledOperator
from tests.kubelet.kubernetes_node import KubernetesNode


def test_the_operator_becomes_ready(node: KubernetesNode, operator: InstalledOperator) -> None:
    assert len(operator.pods()) == 1
    assert '"init containers use the operator\'s image"' in operator.log()
