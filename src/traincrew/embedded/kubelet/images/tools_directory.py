"""What this node brings into containers: the tools of the operator's init containers, and the way to other pods' doors.

The tools are made once per release below the cluster's directory, compiled, and mounted read-only into every container: what
an init container has copied (`/opt/kube/kubectl`) finds its parts there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import py_compile
import secrets
import shlex
import shutil
import sys

from traincrew.embedded.kubelet.images import init_containers
from traincrew.embedded.kubelet.images.environment import Environment
from traincrew.embedded.kubelet.runtime.spec import Mount

TOP = pathlib.Path(__file__).parents[4]
PROGRAMS = pathlib.Path(__file__).parent / "programs"
TOOLS_PATH = "/run/traincrew/tools"
EXEC_SOCKETS_PATH = "/run/traincrew/doors"
SERVER = PROGRAMS.parents[1] / "server"
MODULES = (
    *sorted(PROGRAMS.glob("*.py")),
    PROGRAMS.parents[1] / "runtime" / "client" / "ticket_exec.py",
    SERVER / "spdy_frames.py",
    SERVER / "spdy_headers.py",
)
COMMANDS = ("kubectl", "nslookup")
PACKAGE = "traincrew.embedded.kubelet.images.programs"
OTHER_PYTHONS = ("/usr/bin/python3", "/usr/local/bin/python3")

# Whoever may not enter the directory of our own interpreter takes the machine's.
_LAUNCHER = """#!/bin/sh
for python in {pythons}; do
  for lib in {inside} {outside}; do
    if [ -x "$python" ] && [ -d "$lib" ]; then
      exec "$python" -IS -c 'import sys; sys.path.insert(0, sys.argv.pop(1)); from {package} import {name}; {name}.main()' "$lib" "$@"
    fi
  done
done
echo "{name}: no Python that can be run here: tried {pythons}" >&2
exit 127
"""  # noqa: E501


@dataclasses.dataclass(frozen=True)
class ContainerTools:
    directory: pathlib.Path
    doors: pathlib.Path | None = None
    """Where the doors of pods are."""

    def added(self, environment: Environment, role: str = "") -> Environment:
        mounts = [Mount(TOOLS_PATH, str(self.directory), read_only=True, optional=True)]
        if self.doors is not None:
            mounts.append(Mount(EXEC_SOCKETS_PATH, str(self.doors), read_only=True, optional=True))
        found = dataclasses.replace(environment, mounts=(*environment.mounts, *mounts))
        if not role:
            return found
        path = (f"{TOOLS_PATH}/bin", f"{self.directory}/bin", *environment.path)
        command = environment.command or (("deliver",) if role == init_containers.KUBECTL else ())
        return dataclasses.replace(found, path=path, command=command, source=f"the node's own {role}", own=True)


def prepare(data: pathlib.Path, doors: pathlib.Path | None = None) -> ContainerTools:
    """Makes them if this release has not yet. What an earlier one made stays, for its pods."""
    sources = {str(path.relative_to(TOP)): path.read_bytes() for path in MODULES}
    for name in list(sources):
        # Packages are empty there: what they hold otherwise is not for pods.
        sources |= {f"{parent}/__init__.py": b"" for parent in list(pathlib.PurePath(name).parents)[:-1]}
    digest = hashlib.sha256(repr((sorted(sources.items()), _LAUNCHER, sys.executable, sys.version)).encode()).hexdigest()[:16]
    directory = data / "node" / "tools" / digest
    if not directory.is_dir():
        directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make(directory, sources)
    return ContainerTools(directory, doors)


def _make(directory: pathlib.Path, sources: dict[str, bytes]) -> None:
    beside = directory.with_name(f".{directory.name}.{secrets.token_hex(4)}")
    (beside / "bin").mkdir(parents=True)
    for name, content in sources.items():
        (beside / name).parent.mkdir(parents=True, exist_ok=True)
        (beside / name).write_bytes(content)
        (beside / name).chmod(0o644)
        # Neither times nor contents are compared on each start: the directory's name is the digest of them.
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(beside / name), dfile=name, doraise=True, invalidation_mode=mode)
    for name in COMMANDS:
        _script(beside / "bin" / name, _launcher(name, directory))
    _script(beside / "bin" / "deliver", (PROGRAMS / "deliver.sh").read_text())
    for each in (beside, *(path for path in beside.rglob("*") if path.is_dir())):
        each.chmod(0o755)
    for each in beside.rglob("*.pyc"):
        each.chmod(0o644)
    try:
        os.rename(beside, directory)
    except OSError:
        shutil.rmtree(beside)  # another daemon was faster
        if not directory.is_dir():
            raise


def _launcher(name: str, outside: pathlib.Path) -> str:
    pythons = " ".join(shlex.quote(each) for each in (os.path.realpath(sys.executable), *OTHER_PYTHONS))
    return _LAUNCHER.format(name=name, package=PACKAGE, pythons=pythons, inside=TOOLS_PATH, outside=shlex.quote(str(outside)))


def _script(path: pathlib.Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
