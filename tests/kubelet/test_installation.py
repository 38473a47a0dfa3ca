"""The operator in its own image, installed with the Helm chart."""

from __future__ import annotations

from tests.kubelet.installed_operator import InstalledOperator


def test_the_operator_runs_as_an_ordinary_user_with_a_read_only_root(operator: InstalledOperator) -> None:
    (pod,) = operator.pods()
    (container,) = pod["spec"]["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert '"starting workers"' in operator.log()
