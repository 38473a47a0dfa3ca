"""Manifests that users copy from tutorials, applied unchanged by the real kubectl."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
from collections.abc import Iterator

import yaml
from tests.cluster.api import KINDS, Api, Object, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import PREFIX
from tools.kube import cluster

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "seeds"
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


@dataclasses.dataclass(frozen=True)
class Seed:
    """A manifest and its namespace: the one that it names, else that of the test."""

    kube: cluster.Cluster
    api: Api
    file: pathlib.Path
    namespace: str
    kind: str
    name: str

    def kubectl(self, *words: str) -> str:
        done = self.kube.kubectl(*words, f"--namespace={self.namespace}")
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def put(self, *how: str) -> None:
        """`put("create")`, `put("apply", "--server-side")`."""
        self.kubectl(*how, f"--filename={self.file}")

    @property
    def kubelet(self) -> FakeKubelet:
        return FakeKubelet(self.api, self.namespace)

    def pods(self) -> dict[str, Object]:
        found = self.api.all("pods", self.namespace, f"{PREFIX}job-name={self.name}")
        return {pod["metadata"]["name"].removeprefix(f"{self.name}-"): pod for pod in found}

    def services(self) -> dict[str, Object]:
        found = self.api.all("services", self.namespace, f"{PREFIX}job-name={self.name}")
        return {service["metadata"]["name"].removeprefix(f"{self.name}-"): service for service in found}

    def replicas(self, *names: str) -> dict[str, Object]:
        """Wait until the job has exactly these pods. Returns them by name, without the name of the job."""
        found: dict[str, Object] = eventually(
            lambda: (pods := self.pods()).keys() == set(names) and pods, because=f"{self.name}: not exactly the pods {names}"
        )
        return found

    def files(self) -> dict[str, str]:
        found: dict[str, str] = self.api.get("configmaps", self.namespace, f"{self.name}-config")["data"]
        return found

    def states(self) -> dict[str, str]:
        found = self.api.get(KINDS[self.kind], self.namespace, self.name)["status"]["conditions"]
        return {entry["type"]: entry["status"] for entry in found}


@contextlib.contextmanager
def applied(kube: cluster.Cluster, api: Api, stem: str, namespace: str) -> Iterator[Seed]:
    """A manifest to apply. Its objects are deleted afterwards (this needs a garbage collector)."""
    body = yaml.safe_load(FILES[stem].read_text())
    own = body["metadata"].get("namespace", namespace)
    seed = Seed(kube, api, FILES[stem], own, body["kind"], body["metadata"]["name"])
    yield seed
    if seed.kind not in KINDS:  # without a protection controller the finalizers of volumes are never removed
        seed.kubectl("patch", seed.kind, seed.name, "--type=merge", f"--patch={json.dumps({'metadata': {'finalizers': None}})}")
        seed.kubectl("delete", seed.kind, seed.name)
        return
    api.delete(KINDS[seed.kind], own, seed.name)
    for name, pod in seed.pods().items():
        if pod["spec"].get("nodeName"):
            seed.kubelet.gone(f"{seed.name}-{name}")
    eventually(lambda: not seed.pods() and not seed.services(), because=f"{seed.name} left something behind")
