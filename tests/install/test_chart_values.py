"""The values of the chart: their defaults, the effect of each of them, and the errors of wrong ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from tests.install import console_values, recorder_values
from tests.install.helm import CHART, IMAGE, Helm, Object

from traincrew import __version__
from traincrew.kinds import KINDS
from traincrew.validation import required_permissions

Objects = dict[tuple[str, str], Object]


def values() -> Object:
    found: Object = yaml.safe_load((CHART / "values.yaml").read_text())
    return found


def deployment(objects: Objects) -> Object:
    (found,) = [each for (kind, _), each in objects.items() if kind == "Deployment"]
    return found


def pod(objects: Objects) -> Object:
    found: Object = deployment(objects)["spec"]["template"]["spec"]
    return found


def container(objects: Objects) -> Object:
    (found,) = pod(objects)["containers"]
    return dict(found)


def kinds(objects: Objects) -> set[str]:
    return {kind for kind, _ in objects}


def the(kind: str, objects: Objects) -> Object:
    (found,) = [each for (of, _), each in objects.items() if of == kind]
    return found


def _named(objects: Objects, part: str) -> Objects:
    return {key: each for key, each in objects.items() if part in key[1]}


def test_the_defaults_are_those_of_the_seeds(helm: Helm) -> None:
    objects = helm.render()
    assert container(objects)["image"] == f"registry.example.com/team/traincrew:{__version__}"
    assert deployment(objects)["metadata"]["namespace"] == "kubeflow"
    assert objects["Namespace", "kubeflow"]["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert deployment(objects)["spec"]["template"]["metadata"]["labels"]["name"] == "tf-job-operator"
    crds = [each for (kind, _), each in objects.items() if kind == "CustomResourceDefinition"]
    assert sorted(each["metadata"]["name"] for each in crds) == sorted(f"{kind.plural}.kubeflow.org" for kind in KINDS)
    assert all(each["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for each in crds)


def test_the_chart_passes_the_strict_linter(helm: Helm) -> None:
    done = helm("lint", CHART, "--strict", IMAGE)
    assert done.returncode == 0, done.stdout
    assert "WARNING" not in done.stdout


def test_a_chart_for_an_older_kubernetes_has_no_object_that_it_does_not_serve(helm: Helm) -> None:
    served = "--api-versions=admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"
    old, new = helm.render("--kube-version=1.27.0"), helm.render("--kube-version=1.30.0", served)
    added = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    assert kinds(new) - kinds(old) == added
    assert {key: each for key, each in new.items() if key[0] not in added} == old


def test_an_older_kubernetes_than_the_oldest_is_refused(helm: Helm) -> None:
    assert "requires kubeVersion: >=1.27.0-0" in helm.failure("--kube-version=1.26.5")


def test_without_an_image_nothing_is_rendered_and_the_commands_that_make_one_are_printed(helm: Helm) -> None:
    message = helm.failure(image=False)
    assert "image.repository is not set" in message
    assert "make image" in message
    assert f"images import dist/traincrew-{__version__}.oci.tar" in message


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        ("ghcr.io/team/traincrew", "mirror.local:5000/team/traincrew:v1"),
        ("localhost/traincrew", "mirror.local:5000/traincrew:v1"),
        ("registry:5000/traincrew", "mirror.local:5000/traincrew:v1"),
        ("team/traincrew", "mirror.local:5000/team/traincrew:v1"),
        ("traincrew", "mirror.local:5000/traincrew:v1"),
    ],
)
def test_image_registry_replaces_the_registry_of_the_image(helm: Helm, repository: str, expected: str) -> None:
    flags = ("--set=imageRegistry=mirror.local:5000", f"--set=image.repository={repository}", "--set=image.tag=v1")
    assert container(helm.render(*flags))["image"] == expected


def test_image_registry_replaces_the_registry_of_init_images(helm: Helm) -> None:
    images = (
        "--set=image.tag=v1",
        "--set=initImages.pytorch=docker.io/library/alpine:3.10",
        "--set=initImages.kubectlDelivery=kubeflow/delivery:1",
    )
    args = container(helm.render("--set=imageRegistry=mirror.local", *images))["args"]
    assert "--init-image=mirror.local/team/traincrew:v1" in args
    assert "--pytorch-init-container-image=mirror.local/library/alpine:3.10" in args
    assert "--mpi-kubectl-delivery-image=mirror.local/kubeflow/delivery:1" in args


EFFECTS: dict[str, tuple[Any, Callable[[Objects], Any], Any]] = {
    "imageRegistry": ("r.local", lambda found: container(found)["image"], f"r.local/team/traincrew:{__version__}"),
    "image.repository": ("x/y", lambda found: container(found)["image"], f"x/y:{__version__}"),
    "image.tag": ("9", lambda found: container(found)["image"], "registry.example.com/team/traincrew:9"),
    "image.digest": (
        "sha256:" + "a" * 64, lambda found: container(found)["image"], "registry.example.com/team/traincrew@sha256:" + "a" * 64,
    ),
    "image.pullPolicy": ("Always", lambda found: container(found)["imagePullPolicy"], "Always"),
    "imagePullSecrets": ([{"name": "s"}], lambda found: pod(found)["imagePullSecrets"], [{"name": "s"}]),
    "namespace.create": (False, lambda found: "Namespace" in kinds(found), False),
    "namespace.name": ("ml", lambda found: deployment(found)["metadata"]["namespace"], "ml"),
    "nameOverride": ("ops", lambda found: deployment(found)["metadata"]["name"], "traincrew-ops"),
    "fullnameOverride": ("training", lambda found: deployment(found)["metadata"]["name"], "training"),
    "crds.install": (False, lambda found: "CustomResourceDefinition" in kinds(found), False),
    "enabledKinds": (["JAXJob"], lambda found: the("CustomResourceDefinition", found)["spec"]["names"]["kind"], "JAXJob"),
    "watchNamespaces": (["a", "b"], lambda found: "ClusterRoleBinding" in kinds(found), False),
    "gangScheduler": ("volcano", lambda found: "--gang-scheduler-name=volcano" in container(found)["args"], True),
    "clusterDomain": ("c.local", lambda found: "--cluster-domain=c.local" in container(found)["args"], True),
    "sharing.enabled": (True, lambda found: the("PriorityClass", found)["value"], -1000),
    "sharing.headroom": ("cpu=5%", lambda found: "--headroom=cpu=5%" in container(found)["args"], True),
    "sharing.settle": (0, lambda found: "--settle=0" in container(found)["args"], True),
    "sharing.resizeBudget": (0.1, lambda found: "--resize-budget=0.1" in container(found)["args"], True),
    "sharing.noticeTaints": (["a", "b"], lambda found: "--notice-taints=a,b" in container(found)["args"], True),
    "sharing.scalingDefault": ("yield", lambda found: "--scaling-default=yield" in container(found)["args"], True),
    "sharing.autoscaled": ("yes", lambda found: "--autoscaled=yes" in container(found)["args"], True),
    "sharing.pinSurplus": (True, lambda found: "--pin-surplus" in container(found)["args"], True),
    "replicas": (2, lambda found: deployment(found)["spec"]["replicas"], 2),
    "leaderElection.enabled": (False, lambda found: deployment(found)["spec"]["strategy"], {"type": "Recreate"}),
    "leaderElection.id": ("mine", lambda found: "--leader-election-id=mine" in container(found)["args"], True),
    "logLevel": ("debug", lambda found: "--log-level=debug" in container(found)["args"], True),
    "logFormat": ("text", lambda found: "--log-format=text" in container(found)["args"], True),
    "initImages.default": ("d:1", lambda found: "--init-image=d:1" in container(found)["args"], True),
    "initImages.pytorch": ("i:1", lambda found: "--pytorch-init-container-image=i:1" in container(found)["args"], True),
    "initImages.kubectlDelivery": ("k:1", lambda found: "--mpi-kubectl-delivery-image=k:1" in container(found)["args"], True),
    "pytorchInitContainerMaxTries": (7, lambda found: "--pytorch-init-container-max-tries=7" in container(found)["args"], True),
    "extraArgs": (["--in-flight=9"], lambda found: container(found)["args"][-1], "--in-flight=9"),
    "extraEnv": ([{"name": "A", "value": "b"}], lambda found: container(found)["env"][-1], {"name": "A", "value": "b"}),
    "extraVolumes": ([{"name": "v", "emptyDir": {}}], lambda found: pod(found)["volumes"], [{"name": "v", "emptyDir": {}}]),
    "extraVolumeMounts": (
        [{"name": "v", "mountPath": "/v"}], lambda found: container(found)["volumeMounts"], [{"name": "v", "mountPath": "/v"}],
    ),
    "resources.requests.cpu": ("2", lambda found: container(found)["resources"]["requests"]["cpu"], "2"),
    "resources.requests.memory": ("1Gi", lambda found: container(found)["resources"]["requests"]["memory"], "1Gi"),
    "resources.limits.memory": ("2Gi", lambda found: container(found)["resources"]["limits"]["memory"], "2Gi"),
    "nodeSelector": ({"a": "b"}, lambda found: pod(found)["nodeSelector"], {"a": "b"}),
    "tolerations": ([{"operator": "Exists"}], lambda found: pod(found)["tolerations"], [{"operator": "Exists"}]),
    "affinity": ({"nodeAffinity": {}}, lambda found: pod(found)["affinity"], {"nodeAffinity": {}}),
    "topologySpreadConstraints": (
        [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
        lambda found: pod(found)["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"]["app.kubernetes.io/name"],
        "traincrew",
    ),
    "priorityClassName": ("high", lambda found: pod(found)["priorityClassName"], "high"),
    "podLabels": ({"a": "b"}, lambda found: deployment(found)["spec"]["template"]["metadata"]["labels"]["a"], "b"),
    "podAnnotations": ({"a": "b"}, lambda found: deployment(found)["spec"]["template"]["metadata"]["annotations"], {"a": "b"}),
    "terminationGracePeriodSeconds": (5, lambda found: pod(found)["terminationGracePeriodSeconds"], 5),
    "podSecurityContext.runAsNonRoot": (False, lambda found: pod(found)["securityContext"]["runAsNonRoot"], False),
    "podSecurityContext.runAsUser": (7, lambda found: pod(found)["securityContext"]["runAsUser"], 7),
    "podSecurityContext.runAsGroup": (7, lambda found: pod(found)["securityContext"]["runAsGroup"], 7),
    "podSecurityContext.seccompProfile.type": (
        "Unconfined", lambda found: pod(found)["securityContext"]["seccompProfile"]["type"], "Unconfined",
    ),
    "securityContext.allowPrivilegeEscalation": (
        True, lambda found: container(found)["securityContext"]["allowPrivilegeEscalation"], True,
    ),
    "securityContext.readOnlyRootFilesystem": (
        False, lambda found: container(found)["securityContext"]["readOnlyRootFilesystem"], False,
    ),
    "securityContext.capabilities.drop": (
        ["NET_RAW"], lambda found: container(found)["securityContext"]["capabilities"]["drop"], ["NET_RAW"],
    ),
    "serviceAccount.create": (False, lambda found: pod(found)["serviceAccountName"], "default"),
    "serviceAccount.name": ("sa", lambda found: the("ServiceAccount", found)["metadata"]["name"], "sa"),
    "serviceAccount.annotations": ({"a": "b"}, lambda found: the("ServiceAccount", found)["metadata"]["annotations"], {"a": "b"}),
    "rbac.create": (False, lambda found: "ClusterRoleBinding" in kinds(found), False),
    "rbac.userRoles": (False, lambda found: [name for kind, name in found if kind == "ClusterRole"], ["traincrew"]),
    "metrics.enabled": (False, lambda found: "Service" in kinds(found), False),
    "metrics.authentication": (
        True, lambda found: the("ClusterRoleBinding", _named(found, "metrics"))["roleRef"]["name"],
        "traincrew-metrics-authentication",
    ),
    "metrics.certificateSecret": ("tls", lambda found: pod(found)["volumes"][0]["secret"]["secretName"], "tls"),
    "metrics.service.annotations": ({"a": "b"}, lambda found: the("Service", found)["metadata"]["annotations"]["a"], "b"),
    "metrics.serviceMonitor.enabled": (True, lambda found: "ServiceMonitor" in kinds(found), True),
    "metrics.prometheusRule.enabled": (True, lambda found: "PrometheusRule" in kinds(found), True),
    "metrics.dashboards.enabled": (True, lambda found: "ConfigMap" in kinds(found), True),
    "podDisruptionBudget.enabled": (True, lambda found: the("PodDisruptionBudget", found)["spec"]["maxUnavailable"], 1),
    "recorder.enabled": (True, lambda found: recorder_values.pod(found)["serviceAccountName"], "traincrew-recorder"),
    "console.enabled": (True, lambda found: console_values.deployment(found)["metadata"]["name"], "traincrew-console"),
    "networkPolicy.enabled": (True, lambda found: the("NetworkPolicy", found)["spec"]["policyTypes"], ["Ingress", "Egress"]),
}  # fmt: skip
"""Value → another value, a part of the rendered objects, and what that part is then."""

CONDITIONAL: dict[str, tuple[Any, str, Callable[[Objects], Any], Any]] = {
    "metrics.serviceMonitor.labels": (
        {"release": "p"}, "metrics.serviceMonitor.enabled=true",
        lambda found: the("ServiceMonitor", found)["metadata"]["labels"]["release"], "p",
    ),
    "metrics.serviceMonitor.tlsConfig": (
        {"insecureSkipVerify": True}, "metrics.serviceMonitor.enabled=true",
        lambda found: the("ServiceMonitor", found)["spec"]["endpoints"][0]["tlsConfig"], {"insecureSkipVerify": True},
    ),
    "metrics.serviceMonitor.interval": (
        "5s", "metrics.serviceMonitor.enabled=true",
        lambda found: the("ServiceMonitor", found)["spec"]["endpoints"][0]["interval"], "5s",
    ),
    "metrics.prometheusRule.labels": (
        {"release": "p"}, "metrics.prometheusRule.enabled=true",
        lambda found: the("PrometheusRule", found)["metadata"]["labels"]["release"], "p",
    ),
    "metrics.dashboards.labels.grafana_dashboard": (
        "yes", "metrics.dashboards.enabled=true",
        lambda found: the("ConfigMap", found)["metadata"]["labels"]["grafana_dashboard"], "yes",
    ),
    "podDisruptionBudget.minAvailable": (
        "50%", "podDisruptionBudget.enabled=true", lambda found: the("PodDisruptionBudget", found)["spec"]["minAvailable"], "50%",
    ),
    "podDisruptionBudget.maxUnavailable": (
        2, "podDisruptionBudget.enabled=true", lambda found: the("PodDisruptionBudget", found)["spec"]["maxUnavailable"], 2,
    ),
    "networkPolicy.metricsFrom": (
        [{"podSelector": {}}], "networkPolicy.enabled=true",
        lambda found: the("NetworkPolicy", found)["spec"]["ingress"][1]["from"], [{"podSelector": {}}],
    ),
    "networkPolicy.apiServerPorts": (
        [8443], "networkPolicy.enabled=true",
        lambda found: the("NetworkPolicy", found)["spec"]["egress"][0]["ports"][0]["port"], 8443,
    ),
    "networkPolicy.extraEgress": (
        [{"to": []}], "networkPolicy.enabled=true", lambda found: the("NetworkPolicy", found)["spec"]["egress"][-1], {"to": []},
    ),
    **console_values.EFFECTS,
    **recorder_values.EFFECTS,
}  # fmt: skip
"""The same for values of objects that another value enables."""

for probe in ("livenessProbe", "readinessProbe"):
    for field in ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold"):
        EFFECTS[f"{probe}.{field}"] = (77, lambda found, probe=probe, field=field: container(found)[probe][field], 77)  # type: ignore[misc]


def leaves(of: Object, prefix: str = "") -> Iterator[str]:
    for key, value in of.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def test_every_value_has_a_test_of_its_effect_and_a_type_in_the_schema() -> None:
    assert set(leaves(values())) == {*EFFECTS, *CONDITIONAL}
    schema = json.loads((CHART / "values.schema.json").read_text())
    for path in leaves(values()):
        node = schema
        for key in path.split("."):
            node = schema["definitions"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
            if node.get("properties") is None:
                break  # a map
            assert node["additionalProperties"] is False, path
            node = node["properties"][key]


@pytest.mark.parametrize("path", EFFECTS)
def test_a_value_has_its_effect(helm: Helm, path: str) -> None:
    value, part, expected = EFFECTS[path]
    crds = () if path in ("crds.install", "enabledKinds") else ("--set=crds.install=false",)
    flag = f"--set-json={path}={json.dumps(value)}"
    before, after = helm.render(*crds), helm.render(*crds, flag)
    assert part(after) == expected
    assert before != after


def test_the_service_names_the_scheme_if_the_metrics_have_a_certificate(helm: Helm) -> None:
    annotations = the("Service", helm.render("--set=metrics.certificateSecret=tls"))["metadata"]["annotations"]
    assert annotations["prometheus.io/scheme"] == "https"
    assert "prometheus.io/scheme" not in the("Service", helm.render())["metadata"]["annotations"]


def test_sharing_grants_the_rights_to_watch_nodes_all_pods_and_quotas(helm: Helm) -> None:
    found = helm.render("--set=sharing.enabled=true")
    rules = found["ClusterRole", "traincrew-sharing"]["rules"]
    watches = [rule for rule in rules if rule["verbs"] == ["list", "watch"]]
    plurals = {plural for rule in watches for plural in rule["resources"]}
    assert plurals == {plural for _, plural in required_permissions.SHARING_WATCHES}
    others = {plural: rule["verbs"] for rule in rules if rule not in watches for plural in rule["resources"]}
    assert others == {"configmaps": ["create", "get"], "workloads": ["create", "delete", "list", "watch"]}
    assert {"nodes", "pods", "resourcequotas", "persistentvolumes"} <= plurals
    assert not _named(helm.render(), "sharing")


def test_sharing_needs_an_operator_for_all_namespaces(helm: Helm) -> None:
    assert "remove watchNamespaces" in helm.failure("--set=sharing.enabled=true", '--set-json=watchNamespaces=["a"]')


@pytest.mark.parametrize("path", CONDITIONAL)
def test_a_value_of_an_optional_object_has_its_effect(helm: Helm, path: str) -> None:
    value, enabling, part, expected = CONDITIONAL[path]
    how = "--set-json" if '"' in enabling else "--set"  # values of --set-json do not override those of --set
    flags = ("--set=crds.install=false", f"{how}={enabling}")
    after = helm.render(*flags, f"--set-json={path}={json.dumps(value)}")
    assert part(after) == expected
    assert helm.render(*flags) != after


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        pytest.param("image.repositry=x", r"at '/image': additional properties 'repositry' not allowed", id="misspelt"),
        pytest.param("replica=2", r"at '': additional properties 'replica' not allowed", id="misspelt at the top"),
        pytest.param("replicas=two", r"at '/replicas': got string, want integer", id="mistyped"),
        pytest.param("metrics.enabled=5", r"at '/metrics/enabled': got number, want boolean", id="a number for a boolean"),
        pytest.param("enabledKinds={PodJob}", r"at '/enabledKinds/0': value must be one of 'TFJob'", id="an unknown kind"),
        pytest.param("watchNamespaces={A_b}", r"at '/watchNamespaces/0': 'A_b' does not match pattern", id="not a namespace"),
        pytest.param("image.repository=x/y:1", r'image.repository: "x/y:1" has a tag. Set it with image.tag', id="a tag"),
        pytest.param("image.repository=https://x/y", r"image.repository: .* has a scheme", id="a URL"),
        pytest.param("image.pullPolicy=Often", r"at '/image/pullPolicy': value must be one of", id="an unknown policy"),
        pytest.param("livenessProbe.periodSeconds=0", r"at '/livenessProbe/periodSeconds': minimum", id="too small"),
        pytest.param("extraEnv[0].value=x", r"at '/extraEnv/0': missing property 'name'", id="a variable without a name"),
        pytest.param("podSecurityContext.runAsNonRot=true", r"at '/podSecurityContext': .* 'runAsNonRot'", id="of the pod"),
        pytest.param(
            "securityContext.readOnlyRootFileSystem=true", r"at '/securityContext': .* 'readOnlyRoot", id="of a container"
        ),
        pytest.param("affinity.nodeAfinity.a=b", r"at '/affinity': .* 'nodeAfinity'", id="an affinity"),
        pytest.param("tolerations[0].operater=Exists", r"at '/tolerations/0': .* 'operater'", id="a toleration"),
        pytest.param("console.resources.limit.memory=1Gi", r"at '/console/resources': .* 'limit'", id="of the console"),
        pytest.param("recorder.resources.limits.memory=1GiB", r"at '/recorder/resources/limits/memory': '1GiB'", id="a quantity"),
        pytest.param("networkPolicy.metricsFrom[0].pods=x", r"at '/networkPolicy/metricsFrom/0': .* 'pods'", id="a peer"),
        pytest.param("console.networkPolicy.extraEgress[0].port=1", r"at '/console/networkPolicy/extraEgress/0'", id="an egress"),
        pytest.param("replicas=2,leaderElection.enabled=false", r"more than one replica needs leaderElection", id="two leaders"),
    ],
)
def test_a_wrong_value_is_rejected_with_its_path(helm: Helm, flag: str, expected: str) -> None:
    assert re.search(expected, helm.failure(f"--set={flag}"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(
            "podSecurityContext", {"supplementalGroupsPolicy": "Strict", "seLinuxChangePolicy": "Recursive"}, id="a pod"
        ),
        pytest.param(
            "securityContext", {"appArmorProfile": {"type": "RuntimeDefault"}, "procMount": "Default"}, id="a container"
        ),
        pytest.param(
            "resources", {"limits": {"cpu": 0.5, "memory": "1.5Gi"}, "claims": [{"name": "a", "request": "b"}]}, id="claims"
        ),
        pytest.param(
            "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution",
            [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}, "mismatchLabelKeys": ["c"]}],
            id="labels of pods",
        ),
        pytest.param(
            "networkPolicy.extraEgress",
            [
                {
                    "ports": [{"port": 1, "endPort": 9}, {"port": "dns"}],
                    "to": [{"ipBlock": {"cidr": "::/0", "except": ["fd00::/8"]}}],
                }
            ],
            id="network policies",
        ),
    ],
)
def test_rare_and_new_fields_of_kubernetes_are_accepted(helm: Helm, path: str, value: Any) -> None:
    assert helm.render("--set=crds.install=false", f"--set-json={path}={json.dumps(value)}")


def test_watched_namespaces_get_roles_and_the_cluster_gets_none_for_the_operator(helm: Helm) -> None:
    objects = helm.render("--set=watchNamespaces={a,b}")
    places = {each["metadata"]["namespace"]: each["subjects"] for (kind, _), each in objects.items() if kind == "RoleBinding"}
    account = {"kind": "ServiceAccount", "name": "traincrew", "namespace": "kubeflow"}
    assert places["kubeflow"] == [account]
    assert [name for kind, name in objects if kind == "ClusterRole" and not name.startswith("kubeflow-training-")] == []
    assert [arg for arg in container(objects)["args"] if "namespace" in arg] == ["--namespace=a", "--namespace=b"]
