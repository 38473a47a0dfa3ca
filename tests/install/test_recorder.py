"""The recorder of the chart: off by default, rights to read alone, the same as the manifests, with SQLite or PostgreSQL."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.install import helm as helm_module
from tests.install import recorder_values
from tests.install.helm import ROOT, Helm, Object
from tests.install.recorder_values import NAME, ON, POSTGRES

from traincrew.validation import rbac_manifests, required_permissions

CONSOLE = "traincrew-console"


def test_the_recorder_is_off_by_default(helm: Helm) -> None:
    assert not [key for key in helm.render("--set=console.enabled=true") if "recorder" in key[1]]


def test_the_recorder_has_a_service_account_that_only_reads(helm: Helm) -> None:
    found = helm.render(f"--set={ON}")
    granted = helm_module.permissions(found["ClusterRole", NAME])
    assert {verb for verb, *_ in granted} == {"get", "list", "watch"}
    assert granted == helm_module.permissions({"rules": rbac_manifests.rules(required_permissions.recorder_permissions())})
    assert recorder_values.pod(found)["serviceAccountName"] == NAME
    assert found["ClusterRoleBinding", NAME]["subjects"][0]["name"] == NAME


def test_an_operator_of_some_namespaces_has_a_recorder_of_the_same(helm: Helm) -> None:
    found = helm.render(f"--set={ON}", '--set-json=watchNamespaces=["a"]')
    assert ("ClusterRole", NAME) not in found
    assert found["Role", NAME]["metadata"]["namespace"] == "a"
    assert found["RoleBinding", NAME]["roleRef"]["kind"] == "Role"
    assert "--namespace=a" in recorder_values.container(found)["args"]


def test_the_url_of_postgresql_comes_from_a_secret_and_no_volume_is_needed(helm: Helm) -> None:
    found = helm.render(f"--set={POSTGRES}", "--set=console.enabled=true,console.replicas=3")
    assert not [key for key in found if key[0] == "PersistentVolumeClaim"]
    for name in (NAME, CONSOLE):
        spec = found["Deployment", name]["spec"]["template"]["spec"]
        (variable,) = spec["containers"][0]["env"]
        assert variable == {"name": "TRAINCREW_HISTORY", "valueFrom": {"secretKeyRef": {"name": "db", "key": "url"}}}
        assert 5432 in [each["port"] for each in found["NetworkPolicy", name]["spec"]["egress"][0]["ports"]]
        assert "fsGroup" not in spec["securityContext"]
    assert found["Deployment", CONSOLE]["spec"]["replicas"] == 3
    assert found["Service", CONSOLE]["spec"]["sessionAffinity"] == "ClientIP"


def test_sqlite_is_read_on_the_node_of_the_recorder_by_one_console(helm: Helm) -> None:
    found = helm.render(f"--set={ON}", "--set=console.enabled=true")
    spec = found["Deployment", CONSOLE]["spec"]["template"]["spec"]
    (term,) = spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    recorded = found["Deployment", NAME]["spec"]["template"]
    assert term["labelSelector"]["matchLabels"].items() <= recorded["metadata"]["labels"].items()
    assert spec["volumes"][0] == recorded["spec"]["volumes"][0]
    assert spec["containers"][0]["env"] == recorded["spec"]["containers"][0]["env"]
    message = helm.failure(f"--set={ON}", "--set=console.enabled=true,console.replicas=2")
    assert "Set recorder.postgres.secret, or one replica" in message


@pytest.mark.parametrize("values", ["maxSize=much", "maxAgeDays=0", "postgres.url=postgresql://u:p@h/d"])
def test_wrong_values_are_refused(helm: Helm, values: str) -> None:
    assert "at '/recorder" in helm.failure(f"--set={ON},recorder.{values}")


def _bare(objects: dict[tuple[str, str], Object], key: tuple[str, str]) -> Any:
    """Without the labels of a release, which the manifests do not have."""
    text = json.dumps(objects[key].get("spec", objects[key].get("rules")), sort_keys=True)
    return json.loads(
        text.replace('"app.kubernetes.io/instance": "traincrew", ', "").replace('"imagePullPolicy": "IfNotPresent", ', "")
    )


def _by_name(spec: Any) -> Any:
    """kustomize puts the volumes of a patch before the others."""
    if isinstance(spec, list):
        return sorted((_by_name(each) for each in spec), key=json.dumps)
    return {key: _by_name(each) for key, each in spec.items()} if isinstance(spec, dict) else spec


def test_the_chart_renders_the_recorder_and_the_console_of_the_manifests(helm: Helm) -> None:
    built = helm_module.by_name(helm_module.kustomize(ROOT / "manifests" / "recorder"))
    chart = helm.render(f"--set={ON}", "--set=console.enabled=true", "--set=image.repository=traincrew")
    for kind in ("Deployment", "NetworkPolicy", "PersistentVolumeClaim", "ClusterRole"):
        assert _bare(chart, (kind, NAME)) == _bare(built, (kind, NAME))
    assert _by_name(_bare(chart, ("Deployment", CONSOLE))) == _by_name(_bare(built, ("Deployment", CONSOLE)))
