"""The tools that this node mounts into containers: commands of init containers and launchers, and exec sockets.

Each release compiles the tools and writes them below the data directory once. Every container mounts them read-only, so that
a script that an init container copied (`/opt/kube/kubectl`) finds its modules.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import py_compile
import secrets
import shlex
import sys
from collections.abc import Iterable

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.images import tool_containers
from traincrew.embedded.kubelet.images.environment import Environment
from traincrew.embedded.kubelet.runtime.spec import Mount

TOP = pathlib.Path(__file__).parents[4]
PROGRAMS = pathlib.Path(__file__).parent / "programs"
TOOLS_PATH = "/run/traincrew/tools"
EXEC_SOCKETS_PATH = "/run/traincrew/exec"
SERVER = PROGRAMS.parents[1] / "server"
MODULES = (
    *sorted(PROGRAMS.glob("*.py")),
    PROGRAMS.parents[1] / "runtime" / "client" / "ticket_exec.py",
    SERVER / "spdy_frames.py",
    SERVER / "spdy_headers.py",
)
COMMANDS = {"kubectl": "kubectl", "nslookup": "nslookup", tool_containers.WAIT: "wait"}
"""The modules of the commands."""
IMAGE_COMMANDS = ("nslookup", tool_containers.WAIT)
"""The commands that the operator's image has. Its kubectl is the one of Kubernetes, which runs in every image."""
PACKAGE = "traincrew.embedded.kubelet.images.programs"
FORMER_COMMANDS = ("kubectl", "nslookup")
FORMER_PACKAGE = "traincrew.embedded.node.images.builtin"
"""The package of the programs in earlier versions. Scripts that their init containers copied import from it."""
OTHER_PYTHONS = ("/usr/bin/python3", "/usr/local/bin/python3")

# A user without access to the cluster's interpreter uses the system's.
_LAUNCHER = """#!/bin/sh
for python in {pythons}; do
  for lib in {inside} {outside}; do
    if [ -x "$python" ] && [ -d "$lib" ]; then
      exec "$python" -IS -c 'import sys; sys.path.insert(0, sys.argv.pop(1)); from {package} import {module}; {module}.main()' "$lib" "$@"
    fi
  done
done
echo "{name}: no usable Python interpreter found (tried {pythons})" >&2
exit 127
"""  # noqa: E501


@dataclasses.dataclass(frozen=True)
class ContainerTools:
    directory: pathlib.Path
    exec_sockets: pathlib.Path | None = None
    """The directory of the exec sockets on the host."""

    def add_to(self, environment: Environment, role: str = "") -> Environment:
        mounts = [Mount(TOOLS_PATH, str(self.directory), read_only=True, optional=True)]
        if self.exec_sockets is not None:
            mounts.append(Mount(EXEC_SOCKETS_PATH, str(self.exec_sockets), read_only=True, optional=True))
        result = dataclasses.replace(environment, mounts=(*environment.mounts, *mounts))
        if not role:
            return result
        path = (f"{TOOLS_PATH}/bin", f"{self.directory}/bin", *environment.path)
        command = environment.command or (("deliver",) if role == tool_containers.KUBECTL else ())
        return dataclasses.replace(result, path=path, command=command, source=f"the node's own {role}", mapped=True)


def prepare(data: pathlib.Path, exec_sockets: pathlib.Path | None = None) -> ContainerTools:
    """Writes the tools of this release unless they exist. Those of earlier releases are kept for running pods."""
    sources = _sources(MODULES)
    for name in FORMER_COMMANDS:
        sources[f"{FORMER_PACKAGE.replace('.', '/')}/{name}.py"] = f"from {PACKAGE}.{name} import main\n".encode()
    sources |= _packages(sources)
    digest = hashlib.sha256(repr((sorted(sources.items()), _LAUNCHER, sys.executable, sys.version)).encode()).hexdigest()[:16]
    directory = data / "node" / "tools" / digest
    if not directory.is_dir():
        directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(directory, sources)
    return ContainerTools(directory, exec_sockets)


def install(directory: pathlib.Path) -> None:
    """Writes the commands of the operator's image to a directory that does not exist yet."""
    sources = _sources([PROGRAMS / f"{COMMANDS[name]}.py" for name in IMAGE_COMMANDS])
    _write(directory, sources | _packages(sources), IMAGE_COMMANDS)


def _sources(modules: Iterable[pathlib.Path]) -> dict[str, bytes]:
    return {str(path.relative_to(TOP)): path.read_bytes() for path in modules}


def _packages(sources: Iterable[str]) -> dict[str, bytes]:
    """Pods do not need the content of the packages."""
    return {f"{parent}/__init__.py": b"" for name in sources for parent in list(pathlib.PurePath(name).parents)[:-1]}


def _write(directory: pathlib.Path, sources: dict[str, bytes], commands: Iterable[str] = COMMANDS) -> None:
    temporary = directory.with_name(f".{directory.name}.{secrets.token_hex(4)}")
    (temporary / "bin").mkdir(parents=True)
    for name, content in sources.items():
        (temporary / name).parent.mkdir(parents=True, exist_ok=True)
        (temporary / name).write_bytes(content)
        (temporary / name).chmod(0o644)
        # The name of the directory contains the digest of its content, so that no modification time has to be compared.
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(temporary / name), dfile=name, doraise=True, invalidation_mode=mode)
    for name in commands:
        _script(temporary / "bin" / name, _launcher(name, directory))
    if "kubectl" in commands:
        _script(temporary / "bin" / "deliver", (PROGRAMS / "deliver.sh").read_text())
    for each in (temporary, *(path for path in temporary.rglob("*") if path.is_dir())):
        each.chmod(0o755)
    for each in temporary.rglob("*.pyc"):
        each.chmod(0o644)
    try:
        os.rename(temporary, directory)
    except OSError:
        removal.remove_tree(temporary)  # another daemon has written it concurrently
        if not directory.is_dir():
            raise


def _launcher(name: str, outside: pathlib.Path) -> str:
    pythons = " ".join(shlex.quote(each) for each in (os.path.realpath(sys.executable), *OTHER_PYTHONS))
    return _LAUNCHER.format(
        name=name, module=COMMANDS[name], package=PACKAGE, pythons=pythons, inside=TOOLS_PATH, outside=shlex.quote(str(outside))
    )


def _script(path: pathlib.Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
