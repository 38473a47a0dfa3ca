"""The schemas that are copied from Kubernetes, on the API server that they came from."""

import json
from typing import Any

import pytest
from tools.kube import build, cluster, openapi


def _committed(file: str) -> Any:
    return json.loads((openapi.TARGET / file).read_text())


def _crd(schema: dict[str, Any]) -> dict[str, Any]:
    properties = {"template": schema, "metric": _committed("metric_spec.json")}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "samples.schema.example"},
        "spec": {
            "group": "schema.example",
            "scope": "Namespaced",
            "names": {"plural": "samples", "singular": "sample", "kind": "Sample", "listKind": "SampleList"},
            "versions": [version],
        },
    }


@pytest.fixture(scope="module")
def samples(kube: cluster.Cluster) -> None:
    text = json.dumps(_crd(_committed("pod_template_spec.json")))
    applied = kube.kubectl("apply", "--server-side", "--filename=-", input=text)
    assert applied.returncode == 0, applied.stderr
    # The names first: kubectl gives up at once on an object that has no conditions yet.
    for state in ("jsonpath={.status.acceptedNames.plural}=samples", "condition=Established"):
        waited = kube.kubectl("wait", "crd/samples.schema.example", f"--for={state}", "--timeout=60s")
        assert waited.returncode == 0, waited.stderr


def _sample(**spec: Any) -> str:
    sample = {"apiVersion": "schema.example/v1", "kind": "Sample", "metadata": {"name": "one"}}
    return json.dumps({**sample, "template": {"spec": spec}})


@pytest.mark.parametrize("file", openapi.FILES)
def test_the_committed_schema_is_the_api_servers(kube: cluster.Cluster, file: str) -> None:
    if not isinstance(kube, cluster.OwnCluster) or build.kube() != "1.32":
        pytest.skip("the schemas are those of Kubernetes 1.32")
    assert openapi.generate(kube)[file] == _committed(file)


def test_the_api_server_finds_the_schemas_structural(kube: cluster.Cluster, samples: None) -> None:
    crd = json.loads(kube.kubectl("get", "crd", "samples.schema.example", "--output=json").stdout)
    conditions = {condition["type"]: condition["status"] for condition in crd["status"]["conditions"]}
    assert conditions.get("NonStructuralSchema", "False") == "False"
    assert conditions["Established"] == "True"


def test_server_side_apply_merges_containers_by_name(kube: cluster.Cluster, namespace: str, samples: None) -> None:
    for manager, container in (
        ("first", {"name": "main", "image": "a", "ports": [{"containerPort": 80}]}),
        ("second", {"name": "main", "ports": [{"containerPort": 81}]}),
        ("third", {"name": "sidecar", "image": "b"}),
    ):
        arguments = ("apply", "--server-side", f"--field-manager={manager}", f"--namespace={namespace}")
        applied = kube.kubectl(*arguments, "--filename=-", input=_sample(containers=[container]))
        assert applied.returncode == 0, applied.stderr
    stored = json.loads(kube.kubectl("get", "sample", "one", f"--namespace={namespace}", "--output=json").stdout)
    assert stored["template"]["spec"]["containers"] == [
        {
            "name": "main",
            "image": "a",
            "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81, "protocol": "TCP"}],
        },
        {"name": "sidecar", "image": "b"},
    ]


@pytest.mark.parametrize(
    ("container", "complaint"),
    [
        pytest.param({"name": "c", "image": 5}, "image: Invalid value", id="an image is a text"),
        pytest.param({"image": "a"}, "name: Required value", id="a container has a name"),
        pytest.param({"name": "c", "resources": {"limits": {"cpu": "much"}}}, "limits.cpu: Invalid value", id="quantity"),
        pytest.param({"name": "c", "ports": [{"containerPort": "http"}]}, "containerPort: Invalid value", id="port"),
    ],
)
def test_a_template_of_a_wrong_type_is_rejected(
    kube: cluster.Cluster, namespace: str, samples: None, container: dict[str, Any], complaint: str
) -> None:
    text = _sample(containers=[container])
    refused = kube.kubectl("create", f"--namespace={namespace}", "--filename=-", input=text)
    assert refused.returncode == 1
    assert complaint in refused.stderr


def test_numbers_and_texts_are_both_quantities(kube: cluster.Cluster, namespace: str, samples: None) -> None:
    limits = {"cpu": 2, "memory": "1.5Gi", "example.com/gpu": "1"}
    text = _sample(containers=[{"name": "c", "resources": {"limits": limits}}])
    assert kube.kubectl("create", f"--namespace={namespace}", "--filename=-", input=text).returncode == 0
