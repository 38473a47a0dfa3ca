"""The default environment: the Python environment from which the cluster was started."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Mapping

from traincrew.embedded.kubelet.images.environment import Environment
from traincrew.embedded.kubelet.runtime.spec import Mount

HIDDEN = ("/tmp/", "/var/tmp/", "/run/")  # noqa: S108 -- a pod has its own directories there
ANNOTATION = "traincrew.kubeflow.org/environment"
"""Annotation of a pod: the environment of its images without an entry in the image map. It grants nothing but its place in PATH:
a directory that pods do not see needs a volume."""
UNBUFFERED = {"PYTHONUNBUFFERED": "1"}


def from_process(variables: Mapping[str, str] | None = None, prefix: str = sys.prefix) -> Environment:
    """The activated environment, or else the one of the interpreter, followed by the rest of PATH."""
    variables = os.environ if variables is None else variables
    entries = [entry for entry in variables.get("PATH", "").split(":") if entry.startswith("/")]
    own = f"{prefix}/bin"
    roots = [root for root in (variables.get("VIRTUAL_ENV"), variables.get("CONDA_PREFIX")) if root]
    active = next((root for root in roots if f"{root}/bin" in entries), None)
    path = tuple(dict.fromkeys([*entries, own] if active else [own, *entries]))
    root = active or prefix
    env = {**UNBUFFERED, **marker_variables(root)}
    return Environment(
        path, env, visible_mounts(root, prefix, sys.base_prefix), source=f"the default environment {root}", mapped=False
    )


def from_prefix(prefix: str, libraries: bool = False) -> Environment:
    env = {**UNBUFFERED, **marker_variables(prefix)}
    if libraries:
        env["LD_LIBRARY_PATH"] = f"{prefix}/lib"
    return Environment((f"{prefix}/bin",), env, visible_mounts(*prefixes(prefix)), source=f"the environment {prefix}")


def prefixes(prefix: str) -> tuple[str, ...]:
    """The directory of the environment, and that of the Python which a virtual environment was made from."""
    try:
        lines = pathlib.Path(prefix, "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return (prefix,)
    homes = [value.strip() for name, _, value in (line.partition("=") for line in lines) if name.strip() == "home"]
    return (prefix, *(os.path.dirname(home) for home in homes if home.startswith("/")))


def from_annotation(prefix: str) -> Environment:
    """The environment that the pod itself names."""
    env = {**UNBUFFERED, **marker_variables(prefix)}
    return Environment((f"{prefix}/bin",), env, source=f"the environment {prefix}", mapped=False)


def is_hidden(path: str) -> bool:
    return f"{path}/".startswith(HIDDEN)


def visible_mounts(*prefixes: str) -> tuple[Mount, ...]:
    """The mounts that make these prefixes visible. A pod sees the host's files, except those in temporary directories."""
    hidden = dict.fromkeys(prefix for prefix in prefixes if is_hidden(prefix))
    return tuple(Mount(prefix, prefix, read_only=True, optional=True) for prefix in hidden)


def marker_variables(prefix: str) -> dict[str, str]:
    """The variables by which programs recognize the environment."""
    root = pathlib.Path(prefix)
    if (root / "pyvenv.cfg").exists():
        return {"VIRTUAL_ENV": prefix}
    if (root / "conda-meta").is_dir():
        return {"CONDA_PREFIX": prefix}
    return {}
