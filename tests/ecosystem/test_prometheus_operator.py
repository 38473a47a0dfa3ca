"""The chart's objects for the Prometheus operator, against its own CRDs: no field is unknown, and no value is rejected."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
import yaml
from tests.ecosystem import programs_of_others
from tests.install.helm import CHART, IMAGE, Helm, Object, by_name
from tools.ecosystem import programs
from tools.kube import cluster

KINDS = ("ServiceMonitor", "PrometheusRule")
ENABLED = ("--set=metrics.serviceMonitor.enabled=true", "--set=metrics.prometheusRule.enabled=true")
TLS = '{"ca":{"secret":{"name":"tls","key":"ca.crt"}},"serverName":"traincrew.kubeflow.svc"}'
VALUES = {
    "the defaults": (),
    "authentication and HTTPS": (
        "--set=metrics.authentication=true",
        "--set=metrics.certificateSecret=tls",
        "--set=metrics.serviceMonitor.interval=1m30s",
        f"--set-json=metrics.serviceMonitor.tlsConfig={TLS}",
    ),
}


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.OwnCluster]:
    directory = programs.module_directory(programs.PROMETHEUS_OPERATOR) / "example" / "prometheus-operator-crd"
    with cluster.start() as started:
        assert started.kubectl("create", "namespace", "kubeflow").returncode == 0
        for kind in KINDS:
            programs_of_others.apply_crds(started, directory / f"monitoring.coreos.com_{kind.lower()}s.yaml")
        yield started


def problem(kube: cluster.Cluster, *objects: Object) -> str:
    """The API server validates strictly: it also rejects unknown fields."""
    text = yaml.safe_dump_all(objects)
    done = kube.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", input=text)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_the_monitor_and_the_rules_of_the_chart_are_valid(
    kube: cluster.Cluster, tmp_path: pathlib.Path, values: tuple[str, ...]
) -> None:
    rendered = by_name(Helm(tmp_path).succeed("template", "traincrew", CHART, IMAGE, *ENABLED, *values))
    objects = [rendered[kind, "traincrew"] for kind in KINDS]
    assert problem(kube, *objects) == ""
    objects[0]["spec"]["endpoints"][0]["ports"] = "metrics"
    assert 'unknown field "spec.endpoints[0].ports"' in problem(kube, objects[0])
