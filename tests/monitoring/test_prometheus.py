"""A real Prometheus with the configuration of manifests/monitoring: it reads the metrics of an operator and loads the alerts."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.cluster import installation, operators
from tests.cluster.api import eventually
from tools.kube import embedded

from tools import prometheus
from traincrew import settings

MONITORING = pathlib.Path(__file__).parents[2] / "manifests" / "monitoring"
LIMIT = 60.0


class RunningPrometheus:
    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}/api/v1"

    def ask(self, path: str, **query: str) -> Any:
        """None: it does not answer yet."""
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            address = f"{self._address}/{path}?{urllib.parse.urlencode(query)}"
            with urllib.request.urlopen(address, timeout=10) as answer:
                return json.load(answer)["data"]
        return None

    def values(self, expression: str) -> list[str]:
        found = self.ask("query", query=expression) or {"result": []}
        return [each["value"][1] for each in found["result"]]

    def targets(self) -> list[tuple[str, str]]:
        """Health and last error of each target."""
        found = self.ask("targets") or {"activeTargets": []}
        return [(each["health"], each["lastError"]) for each in found["activeTargets"]]


@contextlib.contextmanager
def running(configuration: dict[str, Any], directory: pathlib.Path) -> Iterator[RunningPrometheus]:
    shutil.copyfile(MONITORING / "alerts.yaml", directory / "alerts.yaml")
    (directory / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
    port = operators.free_port()
    flags = (f"--config.file={directory}/prometheus.yaml", f"--storage.tsdb.path={directory}/data")
    command = [str(prometheus.program("prometheus")), *flags, f"--web.listen-address=127.0.0.1:{port}"]
    with (directory / "prometheus.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield RunningPrometheus(port)
        assert process.poll() is None, "Prometheus has ended"
    finally:
        process.kill()
        process.wait()
        print((directory / "prometheus.log").read_text()[-3000:])  # pytest shows it if the test fails


@pytest.fixture
def operator() -> Iterator[operators.OperatorProcess]:
    with embedded.start() as kube:
        installation.crds(kube)
        with operators.running(installation.rights(kube), "--leader-elect") as started:
            yield started


def configuration(target: str) -> dict[str, Any]:
    """That of the repository, with the address of this operator in place of its Service."""
    text = (MONITORING / "prometheus.yaml").read_text()
    assert "traincrew.kubeflow.svc:8080" in text
    found: dict[str, Any] = yaml.safe_load(text.replace("traincrew.kubeflow.svc:8080", target))
    return {**found, "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}}


def test_prometheus_reads_the_metrics_of_an_operator_and_evaluates_the_alerts(
    operator: operators.OperatorProcess, tmp_path: pathlib.Path
) -> None:
    with running(configuration(f"127.0.0.1:{operator.metrics_port}"), tmp_path) as server:
        eventually(lambda: server.targets() == [("up", "")], LIMIT)
        lease = f'lease_namespace="kubeflow",lease="{settings.Election.name}"'
        eventually(lambda: server.values(f"traincrew_is_leader{{{lease}}}") == ["1"], LIMIT)
        assert server.values("count(process_resident_memory_bytes{job='traincrew'})") == ["1"]

        def rules() -> list[dict[str, Any]]:
            return [rule for group in (server.ask("rules") or {"groups": []})["groups"] for rule in group["rules"]]

        # The first evaluation may come before the first scrape, with TraincrewDown pending.
        eventually(lambda: {(each["health"], each["state"]) for each in rules()} == {("ok", "inactive")}, LIMIT)
        assert "TraincrewDown" in {each["name"] for each in rules()}
