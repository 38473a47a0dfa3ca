"""Clients in Go, built from their modules as the programs of tools/kube are: once, into <cache>/clients/NAME-<digest>."""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path

from tools.kube import build

MODULES = Path(__file__).resolve().parent / "modules"
PACKAGES = {"helm": "helm.sh/helm/v3/cmd/helm", "stern": "github.com/stern/stern"}
_MODULE_PATHS = {"helm": "helm.sh/helm/v3", "stern": "github.com/stern/stern"}


def version(name: str) -> str:
    found = re.search(rf"^\s*(?:require )?{_MODULE_PATHS[name]} v(\S+)", (MODULES / name / "go.mod").read_text(), re.MULTILINE)
    assert found, f"go.mod requires {_MODULE_PATHS[name]}"
    return found[1]


def program(name: str) -> Path:
    """Raises build.BuildFailed."""
    source = MODULES / name
    digest = hashlib.sha256((source / "go.mod").read_bytes() + (source / "go.sum").read_bytes()).hexdigest()[:8]
    target = build.cache() / "clients" / f"{name}-{version(name)}-{digest}" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with build.only_one_at_a_time(target.with_name(f".{name}.lock"), name):
        if not target.exists():
            _build(name, source, target)
    return target


def _build(name: str, source: Path, target: Path) -> None:
    wanted = re.search(r"^go ([0-9.]+)$", (source / "go.mod").read_text(), re.MULTILINE)
    assert wanted, "go.mod has a go line"
    go = build.go_tool(tuple(int(part) for part in wanted[1].split(".")))
    build.report(f"{name} {version(name)} is built from source, once: about 3 minutes with 2 cores")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}.") as work:
        unfinished = Path(work) / name
        flags = ("-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", "-s -w")
        build.go_build([go, "build", *flags, "-o", str(unfinished), PACKAGES[name]], source, name)
        unfinished.rename(target)
