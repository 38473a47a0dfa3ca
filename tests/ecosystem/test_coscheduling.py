"""The coscheduling plugin of scheduler-plugins, in its own scheduler: it binds the pods of a PodGroup together."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

import pytest
import yaml
from tests.cluster import operators
from tests.cluster.api import Api, consistently, eventually
from tests.ecosystem import cluster_with_controllers, gangs, programs_of_others
from tools.ecosystem import programs
from tools.kube import cluster

VERSION = "scheduling.x-k8s.io/v1alpha1"
SCHEDULER = "scheduler-plugins-scheduler"


def configuration(kube: cluster.Cluster, directory: pathlib.Path) -> pathlib.Path:
    """The project's own example, for the scheduler name that the operator's users know."""
    source = programs.module_directory(programs.SCHEDULER_PLUGINS) / "manifests" / "coscheduling" / "scheduler-config.yaml"
    document = yaml.safe_load(source.read_text())
    document["clientConnection"]["kubeconfig"] = str(kube.kubeconfig)
    document["profiles"][0]["schedulerName"] = SCHEDULER
    path = directory / "scheduler-config.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture(scope="module")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Cluster]:
    directory = tmp_path_factory.mktemp("coscheduling")
    with cluster_with_controllers.started() as started, contextlib.ExitStack() as stack:
        source = programs.module_directory(programs.SCHEDULER_PLUGINS)
        programs_of_others.apply_crds(started, source / "config" / "crd" / "bases")
        gangs.create_node(Api(started.kubeconfig), "machine", 4)
        flags = [f"--config={configuration(started, directory)}", f"--cert-dir={directory}", "--bind-address=127.0.0.1"]
        flags += [f"--secure-port={operators.free_port()}", "--authorization-always-allow-paths=/healthz"]
        stack.enter_context(programs_of_others.running("scheduler-plugins/kube-scheduler", flags, started.kubeconfig))
        account = cluster_with_controllers.account(started)
        stack.enter_context(operators.running(account, f"--gang-scheduler-name={SCHEDULER}"))
        yield started


@pytest.fixture(scope="module")
def api(kube: cluster.Cluster) -> Api:
    return Api(kube.kubeconfig)


def test_a_gang_is_bound_whole_or_not_at_all(api: Api) -> None:
    first, second = (gangs.GangJob(api, "default", name, VERSION) for name in ("first", "second"))
    first.submit(workers=3, cpus=1)
    first.run(pods=3)
    second.submit(workers=2, cpus=1)
    eventually(lambda: len(second.pods()) == 2, 60)
    # One of them would fit beside the first job.
    consistently(lambda: second.bound() == 0, 5)
    assert second.group()["spec"]["minMember"] == 2
