"""Data of etcd that has our CRDs and the operator's rights, made once for each version of Kubernetes and of the manifests.

API servers of tests start on copies: to apply the CRDs costs an API server more CPU time than its start.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tools.kube import build

if TYPE_CHECKING:
    from tools.kube.cluster import OwnCluster

HERE = Path(__file__).resolve()
MANIFESTS = HERE.parents[2] / "manifests"
CRDS = ("--server-side", "--force-conflicts", f"--kustomize={MANIFESTS / 'crds'}")
"""Arguments of `kubectl apply`, as those of RIGHTS."""
RIGHTS = tuple(f"--filename={MANIFESTS / name}" for name in ("namespace/namespace.yaml", "base/rbac.yaml"))
UNUSED_SECONDS = 7 * 86400.0


def directory(start: Callable[[], OwnCluster]) -> Path:
    """The data directory, to be copied. start: starts an API server without data."""
    parent = build.cache() / "etcd-data"
    target = parent / _digest()
    parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        with build.only_one_at_a_time(parent / ".lock", "etcd's data"):
            if not target.exists():
                _remove_unused(parent)
                _make(start, target)
    os.utime(target)
    return target


def _make(start: Callable[[], OwnCluster], target: Path) -> None:
    with start() as kube:
        for arguments in (("apply", *CRDS), ("apply", *RIGHTS), ("wait", "--for=condition=Established", "crd", "--all")):
            done = kube.kubectl(*arguments)
            assert done.returncode == 0, done.stderr
        kube.plane.kill("kube-apiserver")
        kube.plane.kill("etcd")
        # A temporary name until all is copied: other processes see no data or all. etcd makes files "*.tmp" for later use.
        unfinished = target.with_name(f".{target.name}")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(kube.plane.data, unfinished, ignore=shutil.ignore_patterns("*.tmp"))
        unfinished.rename(target)


def _remove_unused(parent: Path) -> None:
    for path in parent.iterdir():
        if path.is_dir() and path.stat().st_mtime < time.time() - UNUSED_SECONDS:
            shutil.rmtree(path)


def _digest() -> str:
    """Of everything that the data depends on."""
    found = hashlib.sha256()
    for name in ("kube-apiserver", "etcd"):
        program = build.program(name)
        found.update(f"{program} {program.stat().st_size} {program.stat().st_mtime_ns}".encode())
    sources = (*sorted((MANIFESTS / "crds").glob("*")), MANIFESTS / "namespace/namespace.yaml", MANIFESTS / "base/rbac.yaml")
    for path in (*sources, HERE, HERE.with_name("control_plane.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]
