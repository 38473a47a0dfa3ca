"""The operator in its own image, installed with the Helm chart."""

from __future__ import annotations

import json

from tests.kubelet.installed_operator import ARCHIVE, NAMESPACE, InstalledOperator
from tools.image.build import LIBRARY, bill_of_materials

PYTHON_PACKAGES = f"""
import importlib.metadata
for each in importlib.metadata.distributions(path=["/{LIBRARY}"]):
    print(each.name)
"""


def test_the_operator_runs_as_an_ordinary_user_with_a_read_only_root(operator: InstalledOperator) -> None:
    (pod,) = operator.pods()
    (container,) = pod["spec"]["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert '"starting workers"' in operator.log()


def test_the_bill_of_materials_lists_what_is_in_the_image(operator: InstalledOperator) -> None:
    (pod,) = operator.pods()

    def output(*command: str) -> str:
        return operator.node.kubectl("exec", "--namespace", NAMESPACE, pod["metadata"]["name"], "--", *command)

    bill = json.loads(bill_of_materials(ARCHIVE).read_text())
    packages = [(each["externalRefs"][0]["referenceLocator"], each["name"], each["versionInfo"]) for each in bill["packages"]]

    def listed(kind: str) -> set[str]:
        return {name for locator, name, _ in packages if locator.startswith(f"pkg:{kind}/")}

    assert listed("deb") == set(output("ls", "/var/lib/dpkg/status.d").split())
    assert listed("pypi") == set(output("python3", "-I", "-c", PYTHON_PACKAGES).split())
    (version,) = [version for _, name, version in packages if name == "k8s.io/kubernetes"]
    assert f"Client Version: {version}" in output("kubectl", "version", "--client")
