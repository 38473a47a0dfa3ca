"""Kueue as a process beside the API server, with its CRDs, its webhooks and its integrations for our kinds."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

import yaml
from tests.cluster import operators
from tests.ecosystem import programs_of_others, webhooks
from tools.ecosystem import programs
from tools.kube import cluster

Object = dict[str, Any]
FRAMEWORKS = ("pytorchjob", "tfjob", "xgboostjob", "paddlejob", "mpijob")
"""The integrations of Kueue 0.10 with kinds of traincrew. It does not know JAXJob."""
GROUPS = ("kueue.x-k8s.io", "kubeflow.org")
"""Webhooks for other groups are not registered: nothing in these tests uses them."""
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"


@contextlib.contextmanager
def running(kube: cluster.Cluster, directory: pathlib.Path) -> Iterator[None]:
    source = programs.module_directory(programs.KUEUE) / "config" / "components"
    programs_of_others.apply_crds(kube, source / "crd" / "bases")
    assert kube.kubectl("create", "namespace", "kueue-system").returncode == 0
    server = webhooks.WebhookServer(directory)
    configuration = directory / "config.yaml"
    configuration.write_text(yaml.safe_dump(_configuration(server)))
    flags = (f"--config={configuration}", "--feature-gates=VisibilityOnDemand=false")
    with programs_of_others.running("kueue/manager", flags, kube.kubeconfig) as program:
        program.wait_for("Starting workers", '"controller":"mpijob"')
        program.wait_for("Serving webhook server")
        server.register(kube, source / "webhook" / "manifests.yaml", GROUPS)
        yield


def _configuration(server: webhooks.WebhookServer) -> Object:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta1",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{operators.free_port()}"},
        "metrics": {"bindAddress": f"127.0.0.1:{operators.free_port()}"},
        "webhook": {"port": server.port, "certDir": str(server.directory)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "integrations": {"frameworks": [f"kubeflow.org/{name}" for name in FRAMEWORKS]},
    }


def queues(quota: int, namespace: str, *checks: str) -> list[Object]:
    """A LocalQueue `main`; its ClusterQueue has these checks and a quota of CPUs on nodes with the label `pool: reserved`."""
    api = {"apiVersion": "kueue.x-k8s.io/v1beta1"}
    flavors = [{"name": "reserved", "resources": [{"name": "cpu", "nominalQuota": quota}]}]
    spec: Object = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
    }
    if checks:
        spec["admissionChecks"] = list(checks)
    return [
        {**api, "kind": "ResourceFlavor", "metadata": {"name": "reserved"}, "spec": {"nodeLabels": {"pool": "reserved"}}},
        {**api, "kind": "WorkloadPriorityClass", "metadata": {"name": "urgent"}, "value": 1000},
        {**api, "kind": "ClusterQueue", "metadata": {"name": namespace}, "spec": spec},
        {**api, "kind": "LocalQueue", "metadata": {"name": "main", "namespace": namespace}, "spec": {"clusterQueue": namespace}},
    ]


def multikueue(name: str, kubeconfig: str) -> list[Object]:
    """An AdmissionCheck of this name, which sends jobs to the cluster of a kubeconfig."""
    api = {"apiVersion": "kueue.x-k8s.io/v1beta1"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "kueue-system"}}
    reference = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": name}
    source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
    return [
        {**secret, "stringData": {"kubeconfig": kubeconfig}},
        {**api, "kind": "MultiKueueCluster", "metadata": {"name": name}, "spec": source},
        {**api, "kind": "MultiKueueConfig", "metadata": {"name": name}, "spec": {"clusters": [name]}},
        {
            **api, "kind": "AdmissionCheck", "metadata": {"name": name},
            "spec": {"controllerName": MULTIKUEUE, "parameters": reference},
        },
    ]  # fmt: skip
