"""A cluster on this machine with the environments of `make frameworks`, and kubectl.

What a test polls is read over HTTP: kubectl takes 0.1 s of CPU time each time, which the frameworks need.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import time
from collections.abc import Callable

import pytest
import requests
from tests.cluster.api import Api, Object
from tests.node.local_cluster import SOURCE, LocalCluster
from tools.frameworks import cache_paths, images
from tools.kube import build

EXAMPLES = SOURCE / "examples"
TIMEOUT_SECONDS = float(os.environ.get("TRAINCREW_SEEDS_PATIENCE", "300"))
"""Timeout in seconds on a busy machine. Usually ten seconds are enough."""
KEPT = os.environ.get("TRAINCREW_SEEDS_LOGS", "")
"""Directory for the logs of all pods. Empty: logs are not kept."""
Say = Callable[[str], None]


class Cluster:
    """`traincrew up` with isolation level root, or a given machine, with kubectl and traincrew as clients."""

    def __init__(self, say: Say, *flags: str, machine: LocalCluster | None = None) -> None:
        self.say = say
        self._api: Api | None = None
        self.machine = machine or LocalCluster("root")
        known = cache_paths.root() / "images.yaml"
        if not known.exists():
            pytest.fail("no environments: run `make frameworks` first")
        config = self.machine.home / ".config" / "traincrew"
        config.mkdir(parents=True)
        (config / "images.yaml").write_text(known.read_text())
        devices = [word for name, count in images.DEVICES.items() for word in ("--device", f"{name}={count}")]
        namespaces = () if machine else ("--namespace", "kubeflow", "--namespace", "mpi-operator")
        self.flags = (*devices, *namespaces, *flags)

    def up(self) -> Cluster:
        self.machine.up(*self.flags)
        self._api = None  # it may have another port now
        return self

    @property
    def api(self) -> Api:
        if self._api is None:
            self._api = Api(self.machine.kubeconfig)
        return self._api

    def kubectl(self, *arguments: str, check: bool = True, **variables: str) -> str:
        """The standard output; without `check` also the standard error."""
        env = {**os.environ, "KUBECONFIG": str(self.machine.kubeconfig), **variables}
        command = [str(build.program("kubectl")), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env, cwd=EXAMPLES)
        assert not check or done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout if check else done.stdout + done.stderr

    def create(self, example: str, *flags: str) -> None:
        self.say(f"kubectl create -f examples/{example}")
        self.kubectl("create", "-f", example, *flags)

    def get(self, resource: str, name: str, namespace: str = "default") -> Object:
        """Of a resource as for kubectl: `pod`, `mpijob`, `mpijobs.v2beta1.kubeflow.org`."""
        kind, _, version_and_group = resource.partition(".")
        version = version_and_group.partition(".")[0] or "v1"
        return self.api.get(f"{kind.removesuffix('s')}s", namespace, name, version=version)

    def log(self, pod: str, namespace: str = "default") -> str:
        """The log of its only container, or why there is none."""
        try:
            response = self.api.session.get(self.api.server + self.api.path("pods", namespace, pod, "log"), timeout=60)
        except requests.ConnectionError as error:
            return str(error)
        return response.content.decode(errors="replace")

    def says(self, pod: str, pattern: str, namespace: str = "default", within: float = TIMEOUT_SECONDS) -> re.Match[str]:
        """Wait for the first match in the log of a pod."""
        wanted = re.compile(pattern, re.MULTILINE)
        self.say(f"{pod}: waits for {pattern!r}")
        began = time.monotonic()
        while True:
            text = self.log(pod, namespace)
            if found := wanted.search(text):
                self.say(f"{pod}: {found[0].strip()[-120:]!r} after {time.monotonic() - began:.1f} s")
                return found
            if time.monotonic() - began > within or self._over(pod, namespace):
                text = self.log(pod, namespace)
                if found := wanted.search(text):
                    return found
                pytest.fail(f"{pod} never said {pattern!r}:\n{text[-6000:]}\n{self.state(namespace)}")
            time.sleep(0.3)

    def _over(self, pod: str, namespace: str) -> bool:
        found = self.api.find("pods", namespace, pod)
        return found is not None and found["status"].get("phase") in ("Succeeded", "Failed")

    def ends(self, job: str, namespace: str = "default", condition: str = "Succeeded", within: float = TIMEOUT_SECONDS) -> Object:
        """Wait until the job (such as `mpijob/pi`) has this condition, and return it."""
        kind, _, name = job.partition("/")
        self.say(f"{job}: waits for {condition}")
        began = time.monotonic()
        while True:
            found = self.get(kind, name, namespace)
            true = {each["type"] for each in found.get("status", {}).get("conditions", ()) if each["status"] == "True"}
            if condition in true:
                self.say(f"{job}: {condition} after {time.monotonic() - began:.1f} s")
                return found
            if true & {"Succeeded", "Failed"} or time.monotonic() - began > within:
                pytest.fail(f"{job} is {sorted(true)}, not {condition}:\n{self.state(namespace)}")
            time.sleep(0.3)

    def state(self, namespace: str = "default") -> str:
        """The state of the namespace for error messages."""
        pods = self.kubectl("get", "pods", "-n", namespace, "-o", "wide", check=False)
        names = [line.split()[0] for line in pods.splitlines()[1:]]
        logs = "".join(f"--- {name}\n{self.log(name, namespace)[-3000:]}\n" for name in names)
        events = self.kubectl("get", "events", "-n", namespace, check=False)
        return f"{pods}\n{events[-3000:]}\n{logs}"

    def delete(self, job: str, namespace: str = "default") -> None:
        self._keep_logs(namespace)
        self.kubectl("delete", job, "-n", namespace, "--wait=false", check=False)
        name = job.partition("/")[2]
        began = time.monotonic()
        while self.api.all("pods", namespace, f"training.kubeflow.org/job-name={name}"):
            assert time.monotonic() - began < TIMEOUT_SECONDS, self.state(namespace)
            time.sleep(0.3)

    def _keep_logs(self, namespace: str) -> None:
        """Keep the logs in files, for the documentation."""
        if not KEPT:
            return
        for pod in self.kubectl("get", "pods", "-n", namespace, "-o", "name").split():
            path = pathlib.Path(KEPT, f"{pod.removeprefix('pod/')}.log")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.log(pod, namespace))

    def close(self) -> None:
        self.machine.close()


def script(folder: pathlib.Path, name: str, text: str) -> pathlib.Path:
    """Write an executable script, for example for EDITOR."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
