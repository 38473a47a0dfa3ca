"""Writes the environment of the caller into the pod templates of a job."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterator, Mapping
from typing import Any

from traincrew.embedded.kubelet.images.default_environment import ANNOTATION
from traincrew.kinds.kind import JobKind

VOLUME = "environment"


@dataclasses.dataclass(frozen=True)
class PodEnvironment:
    directory: str
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Variables that the environment needs in a pod."""
    mounts: tuple[str, ...] = ()
    """Directories of the environment that pods do not see otherwise."""


def commands(document: dict[str, Any], kind: JobKind) -> list[list[str]]:
    containers = (container for spec in pod_specs(document, kind) for container in spec["containers"])
    return [container["command"] for container in containers if container.get("command")]


def add(document: dict[str, Any], kind: JobKind, environment: PodEnvironment, images: Container[str] | None = None) -> None:
    """What the templates set themselves is kept. images: whose containers get the variables; None: all."""
    for template in _templates(document, kind):
        annotations = template.setdefault("metadata", {}).setdefault("annotations", {})
        annotations.setdefault(ANNOTATION, environment.directory)
    for spec in pod_specs(document, kind):
        for index, directory in enumerate(each for each in environment.mounts if not _is_mounted(spec, each)):
            name = f"{VOLUME}-{index}"
            spec.setdefault("volumes", []).append({"name": name, "hostPath": {"path": directory, "type": "Directory"}})
            for container in spec["containers"]:
                mount = {"name": name, "mountPath": directory, "readOnly": True}
                container.setdefault("volumeMounts", []).append(mount)
        for container in spec["containers"]:
            if images is None or container.get("image") in images:
                _add_variables(container, environment.variables)


def _is_mounted(spec: dict[str, Any], directory: str) -> bool:
    """Whether the job mounts the directory, or one that contains it, at the same path."""
    paths = [(volume.get("hostPath") or {}).get("path") for volume in spec.get("volumes") or ()]
    return any(f"{directory}/".startswith(f"{path}/") for path in paths if path)


def directory(document: dict[str, Any], kind: JobKind) -> str:
    """The environment that the first template names; empty if it names none."""
    annotations = [(template.get("metadata") or {}).get("annotations") or {} for template in _templates(document, kind)]
    return next((str(each[ANNOTATION]) for each in annotations if ANNOTATION in each), "")


def _add_variables(container: dict[str, Any], variables: Mapping[str, str]) -> None:
    given = {entry.get("name") for entry in container.get("env") or ()}
    added = [{"name": name, "value": value} for name, value in variables.items() if name not in given]
    if added:
        container["env"] = [*(container.get("env") or ()), *added]


def _templates(document: dict[str, Any], kind: JobKind) -> Iterator[dict[str, Any]]:
    for replica in document["spec"][kind.replicas_field].values():
        if isinstance(replica, dict) and isinstance(replica.get("template"), dict):
            yield replica["template"]


def pod_specs(document: dict[str, Any], kind: JobKind) -> Iterator[dict[str, Any]]:
    return (template["spec"] for template in _templates(document, kind))
