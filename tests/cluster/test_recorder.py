"""The recorder of a cluster on a real kube-apiserver: logs outlive their pods, and its service account only reads."""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster import audit, installation, operators, recorders
from tests.cluster.api import eventually
from tests.cluster.recorders import SECONDS, RecorderProcess
from tests.node import joined_node
from tests.node.joined_node import JoinedNode

from traincrew.embedded.kubelet.images import default_environment

JOBS = "/apis/kubeflow.org/v1/namespaces/default/jaxjobs"


@pytest.fixture(scope="module")
def machine() -> Iterator[JoinedNode]:
    with joined_node.joined_node() as found:
        installation.crds(found.kube)
        with operators.running(installation.rights(found.kube)):
            yield found


@pytest.fixture(scope="module")
def config(machine: JoinedNode) -> pathlib.Path:
    return recorders.kubeconfig(machine.kube)


@pytest.fixture
def recorder(config: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[RecorderProcess]:
    with recorders.running(config, str(tmp_path / "history.db"), tmp_path) as found:
        yield found


def create(machine: JoinedNode, name: str, script: str, restart: str = "Never", **container: Any) -> None:
    spec = {"containers": [{"name": "jax", "image": "a/b:1", "command": ["sh", "-c", script], **container}]}
    metadata = {"annotations": {default_environment.ANNOTATION: sys.prefix}}
    replica = {"replicas": 1, "restartPolicy": restart, "template": {"metadata": metadata, "spec": spec}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": name}}
    machine.create({**job, "spec": {"jaxReplicaSpecs": {"Worker": replica}}})


def test_a_recorder_that_is_killed_continues_each_log_without_a_gap_and_without_repeating_a_line(
    machine: JoinedNode, recorder: RecorderProcess
) -> None:
    create(machine, "long", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line $i; sleep 0.03; done; printf 'a\\rb\\nend'")
    found = recorder.until("long", lambda found: found.pods)
    uid = found.pods[0].uid
    eventually(lambda: recorder.log_of(uid, "jax"), SECONDS)
    recorder.kill()
    recorder.start()
    eventually(lambda: recorder.log_of(uid, "jax")[-1:] == ["end"], SECONDS)
    assert recorder.log_of(uid, "jax") == [*(f"line {number}" for number in range(1, 301)), "a\rb", "end"]
    machine.api.call("DELETE", f"{JOBS}/long")
    recorder.until("long", lambda found: found.job.deleted and all(pod.deleted for pod in found.pods))
    assert len(recorder.log_of(uid, "jax")) == 302


def test_every_run_of_a_container_is_kept_also_of_a_pod_that_is_deleted_at_once(
    machine: JoinedNode, recorder: RecorderProcess
) -> None:
    create(machine, "again", "echo attempt; sleep 3; exit 1", "OnFailure")
    uid = recorder.until("again", lambda found: found.pods).pods[0].uid
    eventually(lambda: recorder.log_of(uid, "jax", 1) == ["attempt"], SECONDS)
    machine.api.call("DELETE", f"{JOBS}/again")
    recorder.until("again", lambda found: found.job.deleted)
    assert recorder.log_of(uid, "jax", 0) == ["attempt"]


def test_values_of_secret_variables_are_recorded_nowhere_also_if_the_container_prints_them(
    machine: JoinedNode, recorder: RecorderProcess
) -> None:
    variable = {"name": "HF_TOKEN", "value": "hf-0123456789"}
    create(machine, "secretive", "echo token=$HF_TOKEN; echo whole", env=[variable])
    uid = recorder.until("secretive", lambda found: found.pods).pods[0].uid
    eventually(lambda: recorder.log_of(uid, "jax") == ["token=<redacted>", "whole"], SECONDS)
    found = recorder.until("secretive", lambda found: found.pods)
    assert not [text for text in (found.job.object, *(each.object for each in found.pods)) if b"hf-0123456789" in text]


def test_the_recorder_only_reads_and_nothing_is_refused_to_it(machine: JoinedNode, recorder: RecorderProcess) -> None:
    create(machine, "read", "echo hello")
    uid = recorder.until("read", lambda found: found.pods).pods[0].uid
    eventually(lambda: recorder.log_of(uid, "jax") == ["hello"], SECONDS)
    requests = audit.requests(machine.kube, recorders.ACCOUNT)
    assert {each["verb"] for each in requests} == {"get", "list", "watch"}
    refused = [each["requestURI"] for each in requests if each.get("responseStatus", {}).get("code") == 403]
    assert not refused


def test_a_location_that_cannot_be_used_is_reported_at_once(config: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("not a database, " * 100)
    wrong = {
        str(tmp_path / "nowhere" / "h.db"): "No such file or directory",
        str(tmp_path / "file"): "Move it away",
        "mysql://u:s3cret@h/d": "mysql:// is not supported",
        "": "name the history",
    }
    for number, (location, message) in enumerate(wrong.items()):
        recorder = RecorderProcess(config, location, tmp_path / f"log-{number}")
        assert recorder.process.wait(SECONDS) == 2
        text = re.sub(r"\s+", " ", recorder.log.read_text())
        assert message in text
        assert "s3cret" not in text
