"""Stern: logs of pods that run, end, restart and fail."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.clients import commands, go_programs
from tools.clients.commands import Check
from tools.clients.results import ClientResult, from_checks

NAMESPACE = "stern-clients"
IN = ("--namespace", NAMESPACE, "--color", "never")
ONCE = ("--no-follow", *IN)
CHECKS = (
    Check((".", *ONCE), "two first a1.*"),
    Check(("two", *ONCE), "two second b1"),
    Check(("two", "--container", "first", *ONCE), r"\A(?!.*second).*two first a3"),
    Check((".", "--selector", "app=once", *ONCE), r"\A(?!.*two).*once main done"),
    Check(("two", "--container", "first", "--tail", "1", *ONCE), r"\A(?!.*a2).*two first a3"),
    Check(
        ("two", "--container", "first", "--output", "json", *ONCE),
        '"message":"a1","nodeName":"[^"]+","namespace":"stern-clients"',
    ),
    Check(("two", "--container", "first", "--timestamps", *ONCE), r"two first \d{4}-\d\d-\d\dT[0-9:.]+\S* a1"),
    Check(("two", "--container", "first", "--include", "a2", *ONCE), r"\A(?!.*a1).*two first a2"),
    Check(("two", "--container", "first", "--exclude", "a2", *ONCE), r"\A(?!.*a2).*two first a1"),
    Check(("two", "--container", "first", "--since", "1h", *ONCE), "two first a1"),
    Check(("two", "--container", "first", "--template", "{{.PodName}}/{{.Message}}\n", *ONCE), "two/a1\n"),
    Check(("pod/two", "--container", "first", *ONCE), "two first a1"),
    Check((".", "--field-selector", "metadata.name=once", *ONCE), r"\A(?!.*two).*once main done"),
    Check((".", "--container-state", "terminated", *ONCE), r"\A(?!.*two).*once main done"),
    Check((".", "--init-containers=false", *ONCE), r"\A(?!.*prepared).*init main ready"),
    Check(("init", *ONCE), "init prepare prepared"),
    Check(("ticking", "--tail", "2", "--max-log-requests", "1", "--no-follow", *IN), "ticking main tick"),
)


class PreparationFailed(Exception):
    """The pods whose logs are read could not be created."""


def _pod(name: str, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": list(containers), **spec}}


def _container(name: str, script: str) -> dict[str, Any]:
    return {"name": name, "image": "busybox", "command": ["sh", "-c", script]}


PODS = (
    _pod("two", _container("first", "echo a1; echo a2; echo a3; sleep 600"), _container("second", "echo b1; sleep 600")),
    _pod("once", _container("main", "echo done"), restartPolicy="Never"),
    _pod("init", _container("main", "echo ready; sleep 600"), initContainers=[_container("prepare", "echo prepared")]),
    _pod("ticking", _container("main", "while :; do echo tick; sleep 0.2; done")),
)


def run(cluster: Mapping[str, str]) -> ClientResult:
    program = go_programs.program("stern")
    _kubectl(cluster, "create", "namespace", NAMESPACE)
    _kubectl(cluster, "create", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": PODS}))
    _kubectl(cluster, "wait", "--namespace", NAMESPACE, "--for=condition=Ready", "pod/two", "pod/init", "pod/ticking")
    _kubectl(cluster, "wait", "--namespace", NAMESPACE, "--for=jsonpath={.status.phase}=Succeeded", "pod/once")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        checks = commands.run(program, CHECKS, Path(work), cluster)
        checks.append(("follow a new pod until it ends", _follow(program, cluster)))
    _kubectl(cluster, "delete", "namespace", NAMESPACE, "--wait=false")
    return from_checks("stern", go_programs.version("stern"), checks, time.monotonic() - started)


def _follow(program: Path, cluster: Mapping[str, str]) -> str:
    """Stern waits for pods that do not exist yet."""
    pipe = subprocess.PIPE
    with subprocess.Popen([str(program), "later", *IN], env=dict(cluster), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            later = _pod("later", _container("main", "for i in 1 2 3; do echo step $i; sleep 0.5; done"), restartPolicy="Never")
            _kubectl(cluster, "create", "-f", "-", given=json.dumps(later))
            assert process.stdout is not None
            seen = [process.stdout.readline() for _ in range(3)]
        finally:
            process.terminate()
    return "" if seen == [f"later main step {number}\n" for number in (1, 2, 3)] else f"printed {seen}"


def _kubectl(cluster: Mapping[str, str], *arguments: str, given: str = "") -> None:
    command = ["kubectl", *arguments]
    done = subprocess.run(command, env=dict(cluster), input=given, text=True, check=False, capture_output=True, timeout=120)
    if done.returncode:
        raise PreparationFailed(f"{' '.join(command)}: {done.stderr}")
