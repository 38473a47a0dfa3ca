"""kustomize: each directory by `kubectl apply -k` and by `kustomize build | kubectl apply -f -`, on a real API server."""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Iterator

import pytest
from tests.install import helm as helm_module
from tests.install.helm import ROOT, Helm, Object
from tools.install_files import COMPONENT
from tools.kube import cluster

from traincrew.kinds import KINDS
from traincrew.validation import rbac_manifests, required_permissions

MANIFESTS = ROOT / "manifests"
OVERLAYS = sorted(path.name for path in (MANIFESTS / "overlays").iterdir())
DIRECTORIES = (
    "crds", "base", "namespace", "console", "recorder", "sharing", "policies", *(f"overlays/{name}" for name in OVERLAYS)
)  # fmt: skip


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.Cluster]:
    with cluster.start() as started:
        yield started


@pytest.fixture(scope="module")
def installed(kube: cluster.Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Installed by an overlay of the user that sets another namespace; the name of that namespace."""
    directory = tmp_path_factory.mktemp("overlay")
    (directory / "manifests").symlink_to(MANIFESTS)
    (directory / "mine").mkdir()
    overlay = "namespace: elsewhere\nresources: [../manifests/overlays/standalone]\n"
    (directory / "mine" / "kustomization.yaml").write_text(overlay)
    result = kube.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(directory / "mine"))
    assert result.returncode == 0, result.stderr
    return "elsewhere"


KEPT = {"CustomResourceDefinition", "Namespace", "PersistentVolumeClaim"}
"""Jobs, objects of others and the history are gone with them."""


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_all_objects_but_those_that_hold_data_have_the_label_by_which_they_are_removed(directory: str) -> None:
    labelled = {kind for (kind, _), each in objects(directory).items() if COMPONENT in each["metadata"].get("labels", {})}
    assert labelled == {kind for kind, _ in objects(directory)} - KEPT


def test_the_label_by_which_objects_are_removed_selects_no_pod() -> None:
    """A selector of a Deployment cannot be changed, and the label may."""
    for directory in DIRECTORIES:
        assert all(COMPONENT not in json.dumps(each.get("spec", {})) for each in objects(directory).values())


@functools.cache
def build(directory: str) -> str:
    """The output of kustomize for a directory of the manifests."""
    return helm_module.kustomize(MANIFESTS / directory)


def objects(directory: str) -> dict[tuple[str, str], Object]:
    return helm_module.by_name(build(directory))


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_kustomize_and_kubectl_build_the_same(kube: cluster.Cluster, directory: str) -> None:
    built = kube.kubectl("kustomize", str(MANIFESTS / directory))
    assert built.returncode == 0, built.stderr
    assert built.stdout == build(directory)


def test_the_overlay_is_accepted_by_client_side_apply_and_the_definitions_are_listed(kube: cluster.Cluster) -> None:
    result = kube.kubectl("apply", "-k", str(MANIFESTS / "overlays" / "standalone"))
    assert result.returncode == 0, result.stderr
    assert "deployment.apps/traincrew" in result.stdout
    listed = [line.split()[0] for line in kube.kubectl("get", "crd").stdout.splitlines() if "kubeflow" in line]
    assert listed == sorted(f"{kind.plural}.kubeflow.org" for kind in KINDS)


def test_the_output_of_kustomize_is_accepted_from_standard_input(kube: cluster.Cluster) -> None:
    for directory in ("namespace", "crds", "base"):
        done = kube.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=build(directory))
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_object_of_an_overlay_is_accepted_by_the_server(kube: cluster.Cluster, overlay: str) -> None:
    kube.kubectl("create", "namespace", "kubeflow")
    where = str(MANIFESTS / "overlays" / overlay)
    done = kube.kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-k", where)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(objects(f"overlays/{overlay}"))


def test_the_operator_is_found_by_the_label_that_scripts_select(kube: cluster.Cluster, installed: str) -> None:
    deployment = kube.kubectl(
        "get", "deployment", "traincrew", "-n", installed, "-o", "jsonpath={.spec.template.metadata.labels.name}"
    )
    assert deployment.stdout == "tf-job-operator"


def test_the_service_account_of_another_namespace_has_the_rights(kube: cluster.Cluster, installed: str) -> None:
    account = f"system:serviceaccount:{installed}:traincrew"

    def may(*question: str) -> bool:
        return kube.kubectl("auth", "can-i", *question, f"--as={account}").stdout.strip() == "yes"

    assert may("create", "pods", "-n", "default")
    assert may("patch", "mpijobs.kubeflow.org", "--subresource=status", "-n", "default")
    assert may("update", "leases.coordination.k8s.io", "-n", installed)
    assert not may("update", "leases.coordination.k8s.io", "-n", "default")
    assert not may("list", "secrets", "-n", "default")
    assert not may("watch", "secrets", "-n", "default")
    assert not may("patch", "pytorchjobs.kubeflow.org", "-n", "default")
    assert not may("create", "pods", "--subresource=log", "-n", "default")


def test_base_is_the_operator_alone_and_removing_it_leaves_definitions_and_namespace() -> None:
    assert {kind for kind, _ in objects("base")}.isdisjoint({"Namespace", "CustomResourceDefinition"})
    assert {kind for kind, _ in objects("crds")} == {"CustomResourceDefinition"}
    whole = objects("overlays/standalone")
    assert set(whole) == {*objects("base"), *objects("crds"), *objects("namespace")}


def test_the_namespaced_operator_has_the_same_rights_in_one_namespace_only() -> None:
    whole, namespaced = objects("base"), objects("overlays/namespaced")
    names = {name for kind, name in namespaced if kind in ("ClusterRole", "ClusterRoleBinding")}
    assert all(name.startswith("kubeflow-training-") for name in names)
    granted = helm_module.permissions(whole["ClusterRole", "traincrew"], whole["Role", "traincrew"])
    assert helm_module.permissions(namespaced["Role", "traincrew"]) == granted
    (container,) = namespaced["Deployment", "traincrew"]["spec"]["template"]["spec"]["containers"]
    assert "KUBEFLOW_NAMESPACE" in [each["name"] for each in container["env"]]
    assert {key for key in whole if key[0] not in ("ClusterRole", "ClusterRoleBinding")} <= set(namespaced)


def test_the_image_is_set_in_an_overlay_and_no_tracked_file_is_edited(tmp_path: pathlib.Path) -> None:
    (container,) = objects("overlays/example")["Deployment", "traincrew"]["spec"]["template"]["spec"]["containers"]
    assert container["image"].startswith("registry.example.com/traincrew:")


def test_the_chart_renders_the_operator_of_the_base(helm: Helm) -> None:
    """One description of the operator's container would need Helm to apply the manifests; so the two are compared."""
    base = objects("base")
    chart = helm.render("--set=gangScheduler=", "--set=image.repository=traincrew", "--set=crds.install=false")
    for kind in ("Deployment", "Service"):
        assert _without_instance(chart[kind, "traincrew"]) == _without_instance(base[kind, "traincrew"])


def test_the_chart_grants_the_rights_of_the_base(helm: Helm) -> None:
    base = objects("base")
    charts = [helm.render(f"--set=gangScheduler={name}", "--set=crds.install=false") for name in ("volcano", "gangs")]
    for kind in ("ClusterRole", "Role"):
        granted = helm_module.permissions(*(chart[kind, "traincrew"] for chart in charts))
        assert granted == helm_module.permissions(base[kind, "traincrew"])
    users = [name for kind, name in base if kind == "ClusterRole" and name.startswith("kubeflow-training-")]
    assert len(users) == len(required_permissions.USER_LEVELS)
    for name in users:
        one, other = charts[0]["ClusterRole", name], base["ClusterRole", name]
        assert helm_module.permissions(one) == helm_module.permissions(other)
        labels = rbac_manifests.user_labels(name.removeprefix("kubeflow-training-")).items()
        assert labels <= one["metadata"]["labels"].items() & other["metadata"]["labels"].items()


def _without_instance(found: Object) -> Object:
    """Without the labels of the release, and without values that the API server has as defaults."""
    spec = dict(found["spec"])
    if "template" not in spec:
        return {"ports": spec["ports"], "annotations": found["metadata"]["annotations"]}
    (container,) = spec["template"]["spec"]["containers"]
    defaults = {"initialDelaySeconds": 0, "periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3}
    for probe in ("livenessProbe", "readinessProbe"):
        container = {**container, probe: defaults | container[probe]}
    container.pop("imagePullPolicy", None)
    added = ("--log-level=info", f"--init-image={container['image']}")  # these are the operator's defaults
    container["args"] = [arg for arg in container["args"] if arg not in added]
    return {"pod": {**spec["template"]["spec"], "containers": [container]}, "strategy": spec["strategy"]}
