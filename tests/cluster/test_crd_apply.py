"""Client-side and server-side `kubectl apply` of the manifests of the seeds and of single fields."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

import pytest
import yaml
from tests.cluster.api import Api, Object
from tests.validation.valid_manifests import minimal
from tools.kube import cluster

SEEDS = sorted((pathlib.Path(__file__).parents[2] / "examples" / "seeds").glob("*.yaml"))
EACH_SEED = pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.stem)


@pytest.fixture
def place(kube: cluster.Cluster, api: Api, namespace: str, seed: pathlib.Path) -> Iterator[list[str]]:
    """The words that make kubectl put a seed where it belongs: its own namespace, or the test's."""
    own = yaml.safe_load(seed.read_text())["metadata"].get("namespace", "")
    if own:
        kube.kubectl("create", "namespace", own)
    yield ["--filename", str(seed), f"--namespace={own or namespace}"]
    words = ["--filename", str(seed), f"--namespace={own or namespace}"]
    # Volumes wait for a controller that an API server alone does not have.
    kube.kubectl("patch", *words, "--type=merge", '--patch={"metadata": {"finalizers": null}}')
    kube.kubectl("delete", *words)


@EACH_SEED
@pytest.mark.parametrize("side", ["--server-side=false", "--server-side"])
def test_a_seed_is_applied_and_applied_again_without_change(kube: cluster.Cluster, place: list[str], side: str) -> None:
    applied = kube.kubectl("apply", side, *place)
    assert (applied.returncode, applied.stderr) == (0, "")
    version = "-o=jsonpath={.metadata.generation}"
    before = kube.kubectl("get", *place, version).stdout
    again = kube.kubectl("apply", side, *place)
    assert (again.returncode, again.stderr) == (0, "")
    assert kube.kubectl("get", *place, version).stdout == before


def apply(api: Api, namespace: str, body: Object, manager: str) -> Object:
    path = api.path("jaxjobs", namespace, "j")
    return api.call("PATCH", path, body, "application/apply-patch+yaml", fieldManager=manager)


def containers(*found: Object) -> Object:
    document = minimal("JAXJob")
    document["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"] = list(found)
    document["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue"}
    return document


def test_server_side_apply_merges_containers_variables_and_ports_by_their_keys(api: Api, namespace: str) -> None:
    main = {"name": "jax", "image": "i", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 1}]}
    apply(api, namespace, containers(main), "one")
    theirs = {
        "name": "jax",
        "image": "i",
        "env": [{"name": "B", "value": "2"}],
        "ports": [{"containerPort": 1, "protocol": "UDP"}],
    }
    found = apply(api, namespace, containers(theirs, {"name": "side", "image": "s"}), "two")
    jax, side = found["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    assert [entry["name"] for entry in jax["env"]] == ["A", "B"]
    assert [entry["protocol"] for entry in jax["ports"]] == ["TCP", "UDP"]
    assert side["name"] == "side"
    found = apply(api, namespace, containers(theirs), "two")
    assert len(found["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]) == 1


def test_client_side_apply_edits_one_field_and_keeps_what_others_wrote(kube: cluster.Cluster, api: Api, namespace: str) -> None:
    document = containers({"name": "jax", "image": "one"})
    assert kube.kubectl("apply", "-n", namespace, "-f", "-", input=json.dumps(document)).returncode == 0
    api.patch("jaxjobs", namespace, "j", {"metadata": {"labels": {"mine": "kept"}}})
    document["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["image"] = "two"
    assert kube.kubectl("apply", "-n", namespace, "-f", "-", input=json.dumps(document)).returncode == 0
    found = api.get("jaxjobs", namespace, "j")
    assert found["metadata"]["labels"] == {"mine": "kept"}
    assert found["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["image"] == "two"


def test_kubectl_rejects_a_misspelled_field_by_itself(kube: cluster.Cluster, api: Api, namespace: str) -> None:
    document = minimal("JAXJob")
    document["spec"]["runPolcy"] = {}
    done = kube.kubectl("apply", "-n", namespace, "-f", "-", input=json.dumps(document))
    assert done.returncode == 1
    assert 'unknown field "spec.runPolcy"' in done.stderr
