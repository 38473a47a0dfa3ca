"""A pod in detail: commands, environment variables, mounts. Values of secrets are not in it."""

from __future__ import annotations

from typing import Any

from traincrew.console.contract.replica_detail import ContainerSpec, EnvironmentVariable, Mount


def containers(pod: dict[str, Any]) -> list[ContainerSpec]:
    spec = pod.get("spec") or {}
    volumes = {str(each.get("name")): _volume_kind(each) for each in spec.get("volumes") or ()}
    init = [_container(each, volumes, init=True) for each in spec.get("initContainers") or ()]
    return init + [_container(each, volumes, init=False) for each in spec.get("containers") or ()]


def _volume_kind(volume: dict[str, Any]) -> str:
    return next((key for key in volume if key != "name"), "emptyDir")


def _container(container: dict[str, Any], volumes: dict[str, str], *, init: bool) -> ContainerSpec:
    mounts = [
        Mount(
            path=str(each.get("mountPath", "")),
            volume=str(each.get("name", "")),
            kind=volumes.get(str(each.get("name")), ""),
            read_only=bool(each.get("readOnly")),
        )
        for each in container.get("volumeMounts") or ()
    ]
    return ContainerSpec(
        name=str(container.get("name", "")),
        init=init,
        image=str(container.get("image", "")),
        command=[str(each) for each in container.get("command") or ()],
        args=[str(each) for each in container.get("args") or ()],
        working_dir=str(container.get("workingDir") or ""),
        env=[variable(each) for each in container.get("env") or ()],
        mounts=mounts,
    )


def variable(variable: dict[str, Any]) -> EnvironmentVariable:
    name, origin = str(variable.get("name", "")), variable.get("valueFrom") or {}
    if not origin:
        return EnvironmentVariable(name=name, value=str(variable.get("value") or ""))
    kind, reference = next(iter(origin.items()))
    if kind == "fieldRef":
        return EnvironmentVariable(name=name, value="", source=f"field {reference.get('fieldPath', '')}")
    if kind == "resourceFieldRef":
        return EnvironmentVariable(name=name, value="", source=f"resource {reference.get('resource', '')}")
    word = {"secretKeyRef": "secret", "configMapKeyRef": "config map"}.get(kind, kind)
    return EnvironmentVariable(name=name, value="", source=f"{word} {reference.get('name', '')}, key {reference.get('key', '')}")
