"""The example of network policies selects the pods that it is for. Whether they are enforced is up to the network."""

from __future__ import annotations

import pathlib
from typing import Any

from tests.cluster import jobs_with_leader, mpi
from tests.cluster.api import Api, Object, eventually
from tests.cluster.submitted_job import Submit
from tools.kube import cluster

EXAMPLE = pathlib.Path(__file__).parents[2] / "manifests" / "network-policies" / "jobs.yaml"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies/{}"


def selected(api: Api, namespace: str, policy: str) -> set[str]:
    spec: Object = api.call("GET", POLICIES.format(namespace, policy))["spec"]
    labels = [f"{key}={value}" for key, value in spec["podSelector"].get("matchLabels", {}).items()]
    expressions: list[dict[str, Any]] = spec["podSelector"].get("matchExpressions", [])
    assert all(each["operator"] == "Exists" for each in expressions)
    selector = ",".join([*labels, *(each["key"] for each in expressions)])
    return {pod["metadata"]["name"] for pod in api.all("pods", namespace, selector)}


def test_the_policies_select_all_pods_of_jobs_and_the_launchers_that_exec(
    kube: cluster.Cluster, submit: Submit, api: Api, namespace: str
) -> None:
    applied = kube.kubectl("-n", namespace, "apply", "--validate=strict", "-f", str(EXAMPLE))
    assert applied.returncode == 0, applied.stderr
    expected: set[str] = set()
    for kind in jobs_with_leader.EVERY:
        name = kind.lower()
        submit(jobs_with_leader.job(kind, 1, name=name))
        expected |= set(jobs_with_leader.pods(kind, 1, name))
    by_ssh = mpi.job(1, version="v2beta1")
    by_ssh["metadata"]["name"] = "by-ssh"
    submit(by_ssh)
    eventually(lambda: expected | {"by-ssh-worker-0"} <= api.names("pods", namespace))
    assert expected | {"by-ssh-worker-0"} <= selected(api, namespace, "training-jobs")
    assert selected(api, namespace, "mpi-launchers") == {"mpijob-launcher"}
