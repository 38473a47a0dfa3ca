"""A container's command, variables and working directory, from the pod and the environment of its image. PURE."""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Mapping

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.envvars.errors import ConfigError
from traincrew.embedded.kubelet.envvars.exec_limits import ExecSize
from traincrew.embedded.kubelet.envvars.variables import expand_command
from traincrew.embedded.kubelet.images.environment import Environment

PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


@dataclasses.dataclass(frozen=True)
class ProcessConfig:
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str


def build_process_config(
    container: Object, environment: Environment, variables: Mapping[str, str], own: Mapping[str, str]
) -> ProcessConfig:
    """variables: of the pod. own: of every container (HOSTNAME, HOME). Raises ConfigError."""
    env, size = {**own, **environment.env, **variables}, ExecSize()
    for name, value in env.items():
        size.add_variable(name, value)
    words, arguments = expand_command(container, variables, size)
    argv = (*(words or environment.command), *arguments)
    if not words and not environment.command and not arguments:
        message = "failed to generate container spec: failed to generate spec: no command specified"
        why = f"{environment.source or 'the environment'} has no default command"
        raise ConfigError(f"{message}: {why}, and the container names none", "CreateContainerError")
    env["PATH"] = ":".join(_path(environment, variables.get("PATH") or environment.env.get("PATH", "")))
    cwd = container.get("workingDir") or environment.workdir or "/"
    return ProcessConfig(argv, env, posixpath.normpath(posixpath.join("/", cwd)))


def _path(environment: Environment, requested: str) -> list[str]:
    """The environment replaces the directories of the image, so it comes first even if the pod sets PATH."""
    rest = requested.split(":") if requested else PATH
    return list(dict.fromkeys([*environment.path, *(entry for entry in rest if entry)]))
