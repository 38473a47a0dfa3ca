"""The pods of an example as processes of this machine: its YAML, planned by the operator, with local addresses.

No cluster: what is tested is that script, command, environment and the variables that the operator sets fit together.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from tools.frameworks import images

from traincrew.embedded.kubelet.images import image_map
from traincrew.embedded.kubelet.images.environment import Environment, EnvironmentNotFound
from traincrew.embedded.kubelet.images.resolver import ImageResolver
from traincrew.model.observed import Observed
from traincrew.planner.actions import Create
from traincrew.planner.plan import plan as decide
from traincrew.validation import job_review

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
LONG = 600.0
"""Timeout in seconds for a job on a busy machine."""
Manifest = dict[str, Any]


@dataclass
class Process:
    name: str
    argv: list[str]
    env: dict[str, str]
    cwd: pathlib.Path
    output: pathlib.Path
    running: subprocess.Popen[bytes] | None = None

    def text(self) -> str:
        return self.output.read_text(errors="replace") if self.output.exists() else ""


@dataclass
class LocalJob:
    """Starts on entry. On exit all processes and their descendants are killed."""

    processes: dict[str, Process] = field(default_factory=dict)

    def __enter__(self) -> LocalJob:
        for name in self.processes:
            self.start(name)
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.processes:
            self.kill(name)

    def start(self, name: str) -> None:
        process = self.processes[name]
        process.cwd.mkdir(parents=True, exist_ok=True)
        with process.output.open("ab") as output:
            process.running = subprocess.Popen(
                process.argv,
                env=process.env,
                cwd=process.cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        running = self.processes[name].running
        if running is not None and running.poll() is None:
            for child in _descendants(running.pid):
                send(child)
            send(running.pid)
            running.wait()

    def ends(self, *names: str) -> None:
        """Wait until these processes (default: all) succeed. On the first failure the output of all is shown."""
        waited = names or tuple(self.processes)
        self._until(lambda: all(self._code(name) is not None for name in waited), waited)
        assert {self._code(name) for name in waited} == {0}, self.all_output()

    def says(self, name: str, pattern: str) -> re.Match[str]:
        """Wait for a matching line of this process."""
        self._until(lambda: re.search(pattern, self.processes[name].text(), re.MULTILINE) is not None, (name,))
        found = re.search(pattern, self.processes[name].text(), re.MULTILINE)
        assert found, f"{name} never said {pattern!r}\n{self.all_output()}"
        return found

    def _until(self, true: Any, names: Iterable[str]) -> None:
        deadline = time.monotonic() + LONG
        while not true():
            if self._failed(names) or time.monotonic() > deadline:
                return
            time.sleep(0.1)

    def _code(self, name: str) -> int | None:
        running = self.processes[name].running
        return None if running is None else running.poll()

    def _failed(self, names: Iterable[str]) -> bool:
        return any(self._code(name) not in (None, 0) for name in names)

    def all_output(self) -> str:
        return "\n".join(f"== {name}: {self._code(name)}\n{each.text()[-3000:]}" for name, each in self.processes.items())

    def lines(self, pattern: str) -> list[re.Match[str]]:
        return [found for each in self.processes.values() for found in re.finditer(pattern, each.text(), re.MULTILINE)]


def of_example(path: str, where: pathlib.Path, extra: Mapping[str, str] | None = None) -> LocalJob:
    """The job of examples/<path>. Skips the test if its environment is not built."""
    job, pods, _ = planned(EXAMPLES / path)
    local = LocalAddresses(pod["metadata"]["name"] for pod in pods)
    resolved = known_images(where)
    found = {}
    for pod in pods:
        process = process_of(pod, resolved, where)
        process.env = local.variables(process.env) | dict(extra or {})
        found[process.name.removeprefix(f"{job['metadata']['name']}-")] = process
    return LocalJob(found)


def planned(path: pathlib.Path) -> tuple[Manifest, list[Manifest], dict[str, str]]:
    """The job, its pods and the files of its ConfigMap, as the operator creates them."""
    documents = [document for document in yaml.safe_load_all(path.read_text()) if "kubeflow.org" in document["apiVersion"]]
    (document,) = documents
    document["metadata"] |= {"namespace": "default", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    admitted = job_review.review(document)
    assert admitted.stored is not None, admitted.errors
    plan = decide(admitted.kind, admitted.stored, Observed(), dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    made = [action for stage in plan.stages for action in stage if isinstance(action, Create)]
    pods = [{**action.body, "metadata": {"name": action.name}} for action in made if action.resource.plural == "pods"]
    (files,) = [action.body["data"] for action in made if action.resource.plural == "configmaps"] or [{}]
    return admitted.document, pods, files


def known_images(where: pathlib.Path) -> ImageResolver:
    file = where / "images.yaml"
    file.write_text(image_map.render(images.entries()))
    return ImageResolver([file], Environment(path=(os.path.dirname(sys.executable),)))


def process_of(pod: Manifest, resolved: ImageResolver, where: pathlib.Path) -> Process:
    name, container = pod["metadata"]["name"], pod["spec"]["containers"][0]
    environment = resolved.resolve(container["image"])
    if isinstance(environment, EnvironmentNotFound) or (not environment.mapped and container["image"].startswith("traincrew/")):
        pytest.skip(f"{container['image']} has no environment here: make frameworks")
    own = where / name
    env = {"PATH": os.pathsep.join((*environment.path, os.environ["PATH"])), "HOME": str(where), **environment.env}
    env |= {entry["name"]: entry.get("value", "127.0.0.1") for entry in container.get("env") or []}
    argv = [*(container.get("command") or environment.command), *(container.get("args") or [])]
    moved = {mount.path: mount.source for mount in environment.mounts}
    for volume in _volumes(container):
        # A claim is one directory for all pods, any other volume one directory per pod.
        moved[volume["mountPath"]] = str((where if _is_claim(pod, volume["name"]) else own) / "volumes" / volume["name"])
    for folder in moved.values():
        if folder.startswith(str(where)):
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    argv = [_from_workdir(word, environment.workdir, moved) for word in argv]
    return Process(name, [_moved(word, moved) for word in argv], env, own, where / f"{name}.log")


def _from_workdir(word: str, workdir: str, moved: Mapping[str, str]) -> str:
    """A path relative to the working directory of the image, which does not exist on this machine."""
    whole = f"{workdir}/{word}"
    return whole if workdir and pathlib.Path(_moved(whole, moved)).is_file() else word


def _volumes(container: Manifest) -> list[Manifest]:
    """The volumes of the job, without those of the operator."""
    return [each for each in container.get("volumeMounts") or [] if each["mountPath"] not in ("/etc/mpi", "/opt/kube")]


def _is_claim(pod: Manifest, volume: str) -> bool:
    return any(each["name"] == volume and "persistentVolumeClaim" in each for each in pod["spec"].get("volumes") or [])


def _moved(word: str, moved: Mapping[str, str]) -> str:
    for path, source in moved.items():
        word = re.sub(rf"(^|[=\s]){re.escape(path)}(?=/|$)", lambda found, to=source: found[1] + to, word)  # type: ignore[misc]
    return word


class LocalAddresses:
    """Replaces the names of pods by this machine and their ports by free ports."""

    def __init__(self, pods: Iterable[str]) -> None:
        self._pods = sorted(pods, key=len, reverse=True)
        self._ports: dict[tuple[str, str], int] = {}

    def variables(self, env: Mapping[str, str]) -> dict[str, str]:
        names = "|".join(map(re.escape, self._pods))
        expanded = {key: re.sub(r"\$\((\w+)\)", lambda found: env[found[1]], value) for key, value in env.items()}
        found = {}
        for key, value in expanded.items():
            value = re.sub(rf"\b({names})(?:\.[a-z.]+)?:(\d+)", lambda at: f"127.0.0.1:{self._port(at[1], at[2])}", value)
            host = expanded.get(key.removesuffix("PORT") + "ADDR") or expanded.get(key.removesuffix("PORT") + "ADDRESS")
            found[key] = (
                str(self._port(host, value)) if key.endswith("_PORT") and host else re.sub(rf"^({names})$", "127.0.0.1", value)
            )
        if "POD_IP_DUMMY" in env:  # the rendezvous host
            own, port = expanded["PADDLE_MASTER"].split(":")
            found["PADDLE_MASTER"] = f"{own}:{self._port(next(name for name in self._pods if name.endswith('-0')), port)}"
        return found

    def _port(self, pod: str, port: str) -> int:
        if (pod, port) not in self._ports:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self._ports[pod, port] = free.getsockname()[1]
        return self._ports[pod, port]


def _descendants(pid: int) -> list[int]:
    """torchrun and mpirun start their children in new sessions."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [*_descendants(child), child]
    return found


def children(pid: int) -> list[int]:
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def send(pid: int, number: int = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
