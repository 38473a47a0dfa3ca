"""The life of a Helm release on a real API server: install, upgrade, rollback, uninstall, and what is kept."""

from __future__ import annotations

import base64
import os
import pathlib
import re
import subprocess

import yaml
from tests.cluster import manifests
from tests.cluster.api import Api, Object, eventually
from tests.install import earlier_release
from tests.install.helm import CHART, IMAGE, Helm, by_name
from tools.kube import build, cluster

from traincrew import __version__
from traincrew.kinds import KINDS
from traincrew.validation import required_permissions

PROMETHEUS = pathlib.Path(__file__).parent / "crds" / "prometheus-operator.yaml"
EVERYTHING = (
    "--set=replicas=2", "--set=gangScheduler=volcano", "--set=metrics.serviceMonitor.enabled=true",
    "--set=metrics.prometheusRule.enabled=true", "--set=metrics.dashboards.enabled=true",
    "--set=metrics.authentication=true", "--set=metrics.certificateSecret=tls", "--set=networkPolicy.enabled=true",
    "--set=podDisruptionBudget.enabled=true", "--set=priorityClassName=system-cluster-critical", "--set=nodeSelector.disk=ssd",
    "--set=tolerations[0].operator=Exists", "--set=imagePullSecrets[0].name=registry", "--set=extraArgs={--in-flight=9}",
    "--set=sharing.enabled=true", "--set=initImages.default=i:1", "--set=initImages.pytorch=alpine:3.10",
    "--set=initImages.kubectlDelivery=k:1", "--set=pytorchInitContainerMaxTries=7", "--set=podLabels.team=ml",
    "--set=extraEnv[0].name=A,extraEnv[0].value=b", "--set=podAnnotations.a=b", "--set=clusterDomain=cluster.local",
    "--set-json=topologySpreadConstraints=[{\"maxSkew\":1,\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"ScheduleAnyway\"}]",
    "--set-json=affinity={\"podAntiAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[]}}",
    "--set-json=extraVolumes=[{\"name\":\"v\",\"emptyDir\":{}}]",
    "--set-json=extraVolumeMounts=[{\"name\":\"v\",\"mountPath\":\"/v\"}]",
)  # fmt: skip
SECRET_LIMIT = 1 << 20
"""Bytes of a Secret. Helm keeps a release, with the chart and all rendered objects, in one."""


def columns(api: Api) -> list[str]:
    definition = api.get("customresourcedefinitions", "", "pytorchjobs.kubeflow.org")
    return [each["name"] for each in definition["spec"]["versions"][0]["additionalPrinterColumns"]]


def operator_image(kube: cluster.Cluster) -> str:
    where = "jsonpath={.spec.template.spec.containers[0].image}"
    return kube.kubectl("get", "deployment", "traincrew", "-n", "kubeflow", "-o", where).stdout


def stored_release(api: Api, revision: int) -> Object:
    return api.get("secrets", "default", f"sh.helm.release.v1.traincrew.v{revision}")


def notes(helm: Helm, *flags: str) -> str:
    printed = helm.succeed("install", "notes", CHART, IMAGE, "--dry-run=server", *flags)
    return printed.partition("\nNOTES:\n")[2]


def test_the_notes_are_commands_that_fit_the_values(on_kube: Helm) -> None:
    helm = on_kube
    usual = notes(helm)
    assert "kubectl -n kubeflow rollout status deployment/" in usual
    assert "\nkubectl get pytorchjob first -o wide\n" in usual
    assert "console" not in usual
    other = notes(
        helm, "--set=console.enabled=true", "--set=namespace.name=other", "--set=watchNamespaces={team-a,team-b}",
        "--set=enabledKinds={MPIJob,PyTorchJob}",
    )  # fmt: skip
    assert "\nkubectl get -n team-a pytorchjob first -o wide\n" in other
    assert "kubectl -n other port-forward service/" in other
    assert "-console 8470:80\n" in other
    mirrored = notes(helm, "--set=imageRegistry=mirror.local:5000")
    images = re.findall(r" image: (\S+)", mirrored)
    assert len(images) == len(re.findall(r" image: (\S+)", usual)) > 0
    assert {each.split("/")[0] for each in images} == {"mirror.local:5000"}
    secure = ("--set=console.tlsSecret=tls", "--set=console.publicUrl=https://console.example.com")
    only = notes(helm, "--set=enabledKinds={MPIJob}", "--set=console.enabled=true", *secure)
    assert "pytorchjob" not in only.lower()
    assert "-console 8470:443\n" in only
    assert "https://console.example.com\n" in only


def test_a_release_is_upgraded_with_its_definitions_and_uninstalled_without_them(
    kube: cluster.OwnCluster, on_kube: Helm, api: Api, earlier: pathlib.Path
) -> None:
    helm, chart = on_kube, earlier_release.chart(earlier)
    now, before = columns_of(CHART), columns_of(chart)
    assert now != before
    helm.succeed("install", "traincrew", chart, IMAGE)
    assert columns(api) == before
    assert operator_image(kube).endswith(f":{earlier_release.VERSION}")
    job = manifests.job("PyTorchJob", Master=1)
    eventually(lambda: api.all("pytorchjobs", "default") == [])  # a new definition is served after a moment
    api.create("default", job)

    printed = helm.succeed("upgrade", "traincrew", CHART, "--reset-then-reuse-values", "--set=replicas=2")
    assert columns(api) == now, "the definitions are upgraded with the release"
    assert operator_image(kube).endswith(f":{__version__}")
    assert len(base64.b64decode(stored_release(api, 2)["data"]["release"])) < SECRET_LIMIT / 2
    _run_the_commands_of(printed, kube)
    assert api.find("pytorchjobs", "default", "first")

    helm.succeed("rollback", "traincrew", "1")
    assert columns(api) == before
    assert operator_image(kube).endswith(f":{earlier_release.VERSION}")

    helm.succeed("upgrade", "traincrew", CHART, "--reset-then-reuse-values")
    assert "kept due to the resource policy" in helm.succeed("uninstall", "traincrew")
    assert columns(api) == now
    assert api.find("namespaces", "", "kubeflow")
    assert api.find("pytorchjobs", "default", "j"), "uninstalling ends no training"
    left = kube.kubectl("get", "deployment,service,serviceaccount,role,rolebinding", "-n", "kubeflow", "-o", "name").stdout
    assert "traincrew" not in left
    assert "traincrew" not in kube.kubectl("get", "clusterrole,clusterrolebinding", "-o", "name").stdout

    helm.succeed("install", "traincrew", CHART, IMAGE)  # the definitions and the namespace are still those of this release
    assert operator_image(kube).endswith(f":{__version__}")


def _run_the_commands_of(notes: str, kube: cluster.Cluster) -> None:
    """Nothing but the notes is needed: the first job is in them."""
    script = notes[notes.index("kubectl create -f") : notes.index("`helm uninstall")]
    path = f"{build.program('kubectl').parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(kube.kubeconfig)}
    done = subprocess.run(["bash", "-euc", script], env=environment, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr


def columns_of(chart: pathlib.Path) -> list[str]:
    file = chart / "files" / "crds" / "pytorchjobs.kubeflow.org.yaml"
    versions = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)["spec"]["versions"]
    return [each["name"] for each in versions[0]["additionalPrinterColumns"]]


def test_definitions_of_others_stop_the_installation_unless_they_are_taken_over(
    kube: cluster.OwnCluster, on_kube: Helm, api: Api
) -> None:
    applied = kube.kubectl("apply", "--server-side", "-k", str(CHART.parents[1] / "manifests" / "crds"))
    assert applied.returncode == 0, applied.stderr
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubeflow"}})
    refused = on_kube("install", "traincrew", CHART, IMAGE)
    assert "invalid ownership metadata" in refused.stderr
    on_kube.succeed("install", "traincrew", CHART, IMAGE, "--take-ownership")
    namespace = api.get("namespaces", "", "kubeflow")
    assert "helm.sh/resource-policy" not in namespace["metadata"].get("annotations", {}), "a namespace of others is left alone"
    on_kube.succeed("uninstall", "traincrew")
    assert len(api.all("customresourcedefinitions", "")) == len(KINDS)
    assert api.find("namespaces", "", "kubeflow")


def test_an_older_helm_leaves_definitions_and_roles_of_others_alone(kube: cluster.OwnCluster, on_kube: Helm, api: Api) -> None:
    """Without --take-ownership. Kubeflow has ClusterRoles of the same names."""
    applied = kube.kubectl("apply", "--server-side", "-k", str(CHART.parents[1] / "manifests" / "crds"))
    assert applied.returncode == 0, applied.stderr
    for level in required_permissions.USER_LEVELS:
        name = f"kubeflow-training-{level}"
        assert kube.kubectl("create", "clusterrole", name, "--verb=get", "--resource=pods").returncode == 0
    refused = on_kube("install", "traincrew", CHART, IMAGE, "--set=crds.install=false")
    assert re.search('ClusterRole "kubeflow-training-.*invalid ownership metadata', refused.stderr)
    on_kube.succeed("install", "traincrew", CHART, IMAGE, "--set=crds.install=false,rbac.userRoles=false")
    on_kube.succeed("uninstall", "traincrew")
    assert len(api.all("customresourcedefinitions", "")) == len(KINDS)
    assert kube.kubectl("get", "clusterrole", "kubeflow-training-view").returncode == 0


def test_the_release_may_be_in_the_namespace_of_the_operator(kube: cluster.OwnCluster, on_kube: Helm, api: Api) -> None:
    here = ("--namespace", "kubeflow")
    on_kube.succeed("install", "traincrew", CHART, IMAGE, *here, "--create-namespace")
    on_kube.succeed("upgrade", "traincrew", CHART, *here, "--reset-then-reuse-values", "--set=replicas=2")
    assert operator_image(kube).endswith(f":{__version__}")
    assert "kind: Namespace" not in on_kube.succeed("get", "manifest", "traincrew", *here)
    on_kube.succeed("uninstall", "traincrew", *here)
    assert not api.get("namespaces", "", "kubeflow")["metadata"].get("deletionTimestamp")


def test_a_namespace_that_the_chart_created_stays_in_the_release(on_kube: Helm, api: Api) -> None:
    on_kube.succeed("install", "traincrew", CHART, IMAGE)
    on_kube.succeed("upgrade", "traincrew", CHART, "--reset-then-reuse-values", "--set=replicas=2")
    assert "kind: Namespace" in on_kube.succeed("get", "manifest", "traincrew")
    on_kube.succeed("install", "second", CHART, IMAGE, "--set=crds.install=false", "--set=rbac.userRoles=false")
    assert "kind: Namespace" not in on_kube.succeed("get", "manifest", "second"), "it belongs to the first release"
    annotations = api.get("namespaces", "", "kubeflow")["metadata"]["annotations"]
    assert annotations["meta.helm.sh/release-name"] == "traincrew"


def test_every_rendered_object_is_accepted_by_the_server(kube: cluster.OwnCluster, on_kube: Helm, api: Api) -> None:
    assert kube.kubectl("apply", "-f", str(PROMETHEUS)).returncode == 0
    for name in ("kubeflow", "team-a"):
        assert kube.kubectl("create", "namespace", name).returncode == 0
    for flags in (
        EVERYTHING,
        ("--set=watchNamespaces={team-a}", "--set=enabledKinds={JAXJob}", "--set=leaderElection.enabled=false"),
    ):
        rendered = on_kube.succeed("template", "traincrew", CHART, IMAGE, *flags)
        done = kube.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", input=rendered)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == len(by_name(rendered))
        on_kube.succeed("install", "traincrew", CHART, IMAGE, *flags, "--dry-run=server")


def test_the_roles_of_users_take_over_the_rights_to_jobs(kube: cluster.OwnCluster, on_kube: Helm) -> None:
    kube.start_controller_manager()  # it aggregates ClusterRoles
    on_kube.succeed("install", "traincrew", CHART, IMAGE)
    bindings = {"viewer": "view", "editor": "edit", "administrator": "admin"}
    for user, role in bindings.items():
        done = kube.kubectl("create", "rolebinding", user, f"--clusterrole={role}", f"--user={user}", "-n", "default")
        assert done.returncode == 0, done.stderr

    def may(user: str, verb: str) -> bool:
        asked = kube.kubectl("auth", "can-i", verb, "pytorchjobs.kubeflow.org", "-n", "default", f"--as={user}")
        return asked.stdout.strip() == "yes"

    eventually(lambda: may("administrator", "delete"))
    eventually(lambda: may("editor", "create"))
    eventually(lambda: may("viewer", "list"))
    assert not may("viewer", "create")
    assert not may("stranger", "list")
