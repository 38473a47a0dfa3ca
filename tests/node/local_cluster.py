"""Clusters on this machine at each isolation level: `traincrew up` in a process, with real pods."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from typing import Any

from tests import interpreters
from tests.cluster.api import Api, Object, RejectedRequest, eventually
from tests.embedded.kubelet import leak_detection

from traincrew.embedded import data_directory
from traincrew.embedded.file_trees import removal

SOURCE = pathlib.Path(__file__).parents[2]
ORDINARY = 60_000
"""A user id that does not exist."""
LEVELS = ("root", "user", "none")


def python_for(user: int | None, source: pathlib.Path = SOURCE) -> tuple[str, dict[str, str]]:
    """An interpreter that the user may run, and the variables that it needs to find the package. source: a source tree."""
    paths = [str(source / "src"), *(each for each in sys.path if "site-packages" in each)]
    env = {"PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    return sys.executable if user is None else interpreters.for_user(user), env


class LocalCluster:
    """One cluster. At level `user` it runs as an ordinary user, even if the tests run as root."""

    def __init__(self, level: str) -> None:
        self.level = level
        self.user = ORDINARY if level == "user" and os.geteuid() == 0 else None
        self.home = pathlib.Path(tempfile.mkdtemp(prefix=f"traincrew-{level}-", dir="/var/tmp"))
        if self.user is not None:
            os.chown(self.home, self.user, self.user)
        self.data = self.home / "data"
        self.source = SOURCE
        """The source tree of the release that runs the cluster."""
        self._api: Api | None = None

    def command(self, *arguments: str) -> list[str]:
        program, _ = python_for(self.user, self.source)
        return [program, "-m", "traincrew.cli.main", *arguments]

    def environment(self) -> dict[str, str]:
        _, env = python_for(self.user, self.source)
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        own = {"HOME": str(self.home), "TRAINCREW_DATA": str(self.data), "KUBECONFIG": ""}
        return {**kept, **env, **own}

    def traincrew(self, *arguments: str, check: bool = True, input: str = "") -> subprocess.CompletedProcess[str]:
        ids: dict[str, Any] = {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}
        done = subprocess.run(
            self.command(*arguments), capture_output=True, text=True, check=False, timeout=180, env=self.environment(),
            cwd=self.home, input=input, **ids,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}\n{self.log()}"
        return done

    def up(self, *flags: str) -> LocalCluster:
        self.traincrew("up", "--detach", "--isolation", self.level, *flags)
        self._api = None  # connections to the previous daemon are closed
        return self

    def down(self, *flags: str) -> None:
        self.traincrew("down", *flags)

    @property
    def pid(self) -> int:
        found = data_directory.DataDirectory(self.data).owner_pid()
        assert found > 0, f"no daemon runs\n{self.log()}"
        return found

    def kill(self) -> None:
        """Kills the daemon with SIGKILL, like a crash."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not pathlib.Path(f"/proc/{pid}").exists() or _is_dead(pid))

    def log(self) -> str:
        return self.whole_log()[-4000:]

    def whole_log(self) -> str:
        try:
            return (self.data / "traincrew.log").read_text()
        except OSError:
            return ""

    @property
    def kubeconfig(self) -> pathlib.Path:
        return self.data / "kubeconfig"

    @property
    def api(self) -> Api:
        if self._api is None:
            self._api = Api(self.kubeconfig)
        return self._api

    def create(self, *objects: Object, namespace: str = "default") -> None:
        for each in objects:
            self.api.create(namespace, each)

    def pod(self, name: str, namespace: str = "default") -> Object:
        return self.api.get("pods", namespace, name)

    def ended(self, name: str, namespace: str = "default", within: float = 60) -> Object:
        """The pod, after it has terminated."""
        over = ("Succeeded", "Failed")
        found: Object = eventually(lambda: (pod := self.pod(name, namespace))["status"].get("phase") in over and pod, within)
        return found

    def running(self, name: str, namespace: str = "default") -> Object:
        found: Object = eventually(lambda: _ready(pod := self.pod(name, namespace)) and pod)
        return found

    def logs(self, name: str, namespace: str = "default", **query: str) -> str:
        response = self.api.session.get(
            f"{self.api.server}/api/v1/namespaces/{namespace}/pods/{name}/log", params=query, timeout=60
        )
        if response.status_code >= 400:
            raise RejectedRequest(response)
        return response.text

    def gone(self, name: str, namespace: str = "default", seconds: float = 30.0) -> None:
        eventually(lambda: self.api.find("pods", namespace, name) is None, seconds)

    def events(self, name: str, namespace: str = "default") -> list[tuple[str, str]]:
        found = self.api.all("events", namespace)
        return [(each["reason"], each["message"]) for each in found if each["involvedObject"]["name"] == name]

    def end(self) -> None:
        self.traincrew("down", "--grace", "0", check=False)

    def close(self) -> None:
        """Stops the cluster. Fails if a process, a mount or a socket is left."""
        try:
            self.end()
            leak_detection.assert_no_leaks(self.data)
        finally:
            with contextlib.suppress(OSError):
                removal.remove_tree(self.home)


def _is_dead(pid: int) -> bool:
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def _ready(pod: Object) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ()))


def pod(name: str, *command: str, **spec: Any) -> Object:
    """A pod with one container. Keywords are fields of the container or of the pod's spec."""
    of_container = ("env", "envFrom", "volumeMounts", "resources", "securityContext", "livenessProbe", "readinessProbe",
                    "startupProbe", "lifecycle", "workingDir", "ports", "image", "args", "stdin", "stdinOnce", "tty",
                    "terminationMessagePolicy", "terminationMessagePath")  # fmt: skip
    container = {"name": "main", "image": "example", **{key: spec.pop(key) for key in of_container if key in spec}}
    if command:
        container["command"] = list(command)
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 5, **spec}
    spec["containers"] = [container, *spec.get("containers", ())]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def terminated(pod: Object, container: str = "main") -> Object:
    statuses = (*pod["status"].get("initContainerStatuses", ()), *pod["status"]["containerStatuses"])
    found: Object = next(each for each in statuses if each["name"] == container)["state"]["terminated"]
    return found
