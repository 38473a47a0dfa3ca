"""Clients in Go, built from their modules as the programs of tools/kube are: once, into <cache>/clients/NAME-<digest>.

python -m tools.clients.go_programs NAME...      builds what is missing and prints the paths
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from pathlib import Path

from tools.kube import build

MODULES = Path(__file__).resolve().parent / "modules"
PACKAGES = {
    "helm": "helm.sh/helm/v3/cmd/helm",
    "kustomize": "sigs.k8s.io/kustomize/kustomize/v5",
    "stern": "github.com/stern/stern",
}
_MODULE_PATHS = PACKAGES | {"helm": "helm.sh/helm/v3"}
_LINKED = {
    "helm": {
        "helm.sh/helm/v3/internal/version.version": ("helm.sh/helm/v3", r"v(.+)", r"v\1"),
        # `helm template` renders for the Kubernetes version of its own client, as released programs do.
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": ("k8s.io/client-go", r"v0\.\d+.*", "1"),
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": ("k8s.io/client-go", r"v0\.(\d+).*", r"\1"),
    }
}
"""Variables that the linker sets: from the version of a module, by a pattern and its replacement."""
USUALLY = {"helm": "about 3 minutes", "kustomize": "about 20 seconds", "stern": "about 3 minutes"}


def version(name: str) -> str:
    return _required(name, _MODULE_PATHS[name]).removeprefix("v")


def _required(name: str, module: str) -> str:
    found = re.search(rf"^\s*(?:require )?{module} (v\S+)", (MODULES / name / "go.mod").read_text(), re.MULTILINE)
    assert found, f"go.mod requires {module}"
    return found[1]


def _linker_flags(name: str) -> str:
    linked = _LINKED.get(name, {})
    values = {variable: re.sub(pattern, new, _required(name, module)) for variable, (module, pattern, new) in linked.items()}
    return " ".join(["-s", "-w", *(f"-X={variable}={value}" for variable, value in values.items())])


def program(name: str) -> Path:
    """Raises build.BuildFailed."""
    source = MODULES / name
    inputs = (source / "go.mod").read_bytes() + (source / "go.sum").read_bytes() + _linker_flags(name).encode()
    digest = hashlib.sha256(inputs).hexdigest()[:8]
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
    build.report(f"{name} {version(name)} is built from source, once: {USUALLY[name]} with 2 cores")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}.") as work:
        unfinished = Path(work) / name
        flags = ("-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", _linker_flags(name))
        build.go_build([go, "build", *flags, "-o", str(unfinished), PACKAGES[name]], source, name)
        unfinished.rename(target)


def main(names: list[str]) -> int:
    if unknown := set(names) - set(PACKAGES):
        build.report(f"unknown: {', '.join(sorted(unknown))}; known are {', '.join(PACKAGES)}")
        return 2
    try:
        for name in names or PACKAGES:
            print(program(name))
    except build.BuildFailed as error:
        build.report(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
