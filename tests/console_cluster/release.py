"""A release of the chart on a real control plane, with `traincrew node` as its kubelet.

Operator, console and recorder are pods with the rendered flags, volumes, security contexts and service accounts. The kubelet maps
their image to the traincrew of this source tree.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import yaml
from tests.cluster.api import Object, RejectedRequest, eventually
from tests.console import console_fixture, users
from tests.install.helm import CHART, IMAGE, Helm
from tests.node.joined_node import JoinedNode
from tests.node.local_cluster import SOURCE, python_for

from traincrew.embedded.kubelet.images import default_environment

NAMESPACE = "kubeflow"
CONSOLE, RECORDER = "traincrew-console", "traincrew-recorder"
LONG = 240.0


def job(name: str, script: str, workers: int = 2) -> Object:
    """A JAXJob whose image needs no entry in the map of the node."""
    found = console_fixture.job(name, script, workers)
    template = found["spec"]["jaxReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"annotations": {default_environment.ANNOTATION: sys.prefix}}
    return found


class Release:
    def __init__(self, machine: JoinedNode, home: pathlib.Path) -> None:
        self.machine, self.home = machine, home
        self._helm = Helm(home, machine.kube.kubeconfig)

    def install(self, *values: str) -> None:
        """Install, or upgrade to exactly these values, and wait for all Deployments."""
        flags = [f"--set-json={each}" for each in values]
        self._helm.succeed("upgrade", "--install", "traincrew", CHART, IMAGE, *flags)
        for deployment in self.deployments():
            self.wait_rollout(deployment)

    def remove(self) -> None:
        self._helm.succeed("uninstall", "traincrew")
        eventually(lambda: not self.machine.api.all("pods", NAMESPACE), LONG)

    def deployments(self) -> list[str]:
        found = self.machine.api.call("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments")["items"]
        return [each["metadata"]["name"] for each in found]

    def wait_rollout(self, deployment: str) -> None:
        done = self.kubectl("rollout", "status", f"deployment/{deployment}", f"--timeout={int(LONG)}s", check=False)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{self.state()}"

    def kubectl(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = self.machine.kube.kubectl("-n", NAMESPACE, *words)
        assert not check or done.returncode == 0, f"kubectl {words}: {done.stderr}"
        return done

    def pods(self, name: str) -> list[Object]:
        """Those of a Deployment that are not being deleted."""
        found = self.machine.api.all("pods", NAMESPACE, labels=f"app.kubernetes.io/name={name}")
        return [each for each in found if not each["metadata"].get("deletionTimestamp")]

    def state(self) -> str:
        """Statuses and logs of all pods, for messages of failed tests."""
        found = []
        for pod in self.machine.api.all("pods", NAMESPACE):
            name = pod["metadata"]["name"]
            try:
                log = self.machine.logs(name, NAMESPACE)[-3000:]
            except RejectedRequest as refused:
                log = str(refused)
            found.append(f"--- {name}: {pod['status']}\n{log}\n{self.machine.events(name, NAMESPACE)}")
        return "\n".join([*found, self.machine.log()])

    def cli(self, config: pathlib.Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`traincrew` as a user runs it on a machine of their own: with a kubeconfig and nothing else."""
        program, variables = python_for(None)
        environment = {**os.environ, **variables, "KUBECONFIG": str(config), "HOME": str(self.home)}
        environment.pop("TRAINCREW_CONSOLE", None)
        command = [program, "-m", "traincrew.cli.main", *arguments, "--data", str(self.home / "none")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180, env=environment, cwd=SOURCE)
        assert not check or done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}\n{self.state()}"
        return done

    def run_job(self, name: str, script: str, workers: int = 2) -> Object:
        """Create a job, wait until it has finished, and return it."""
        self.machine.create(job(name, script, workers))

        def finished() -> Any:
            found = self.machine.api.get("jaxjobs", "default", name)
            conditions = found.get("status", {}).get("conditions", ())
            return (
                found
                if any(each["type"] in ("Failed", "Succeeded") and each["status"] == "True" for each in conditions)
                else None
            )

        found: Object = eventually(finished, LONG)
        return found

    def delete_job(self, name: str) -> None:
        self.machine.api.delete("jaxjobs", "default", name)
        eventually(lambda: not self.machine.api.all("pods", "default", f"training.kubeflow.org/job-name={name}"), LONG)

    def user(self, name: str, role: str = "", *, port_forward: bool = True) -> pathlib.Path:
        """The kubeconfig of a new service account. role: that in the namespace of the jobs. port_forward: the rights of
        docs/install.md to reach the console."""
        secret = users.token_of(self.machine.kube.kubeconfig, name, role)
        if port_forward:
            rules = (SOURCE / "docs" / "install.md").read_text().partition("kind: Role\n")[2].partition("```")[0]
            document = f"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{rules}"
            done = self.machine.kube.kubectl("apply", "-f", "-", input=document)
            assert done.returncode == 0, done.stderr
            account = f"--serviceaccount=default:{name}"
            self.kubectl("create", "rolebinding", f"console-{name}", "--role=traincrew-console-user", account)
        path = self.home / f"{name}.conf"
        path.write_text(yaml.safe_dump(users.kubeconfig_with(self.machine.kube.kubeconfig, token=secret)))
        return path
