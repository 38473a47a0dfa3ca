"""Controllers of other projects, built from their Go modules once, into <cache>/ecosystem/NAME-VERSION-<digest>.

A module is pinned by version and checksum; its own go.sum pins what it depends on. Manifests and CRDs of a project are read from
the same module (`module_directory`), so that nothing of it is kept in this repository.

    python -m tools.ecosystem.programs [PROGRAM...]      builds what is missing
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tools.kube import build


class Module(NamedTuple):
    path: str
    version: str
    checksum: str


TRAINING_OPERATOR = Module("github.com/kubeflow/training-operator", "v1.7.0", "h1:Zh61GlOWrlRi4UFOtJeV+/5REo/OndhwQ25KYd0llzc=")
MPI_OPERATOR = Module("github.com/kubeflow/mpi-operator", "v0.6.0", "h1:RzzG03oyQIiHe/SH2k19N+Hp4QkxEsG2l9G1T7US+ys=")
KUEUE = Module("sigs.k8s.io/kueue", "v0.10.1", "h1:td+Nae1z9L4IrkqJKOIMsKp2TmwUAvk/hWKhSaFupwk=")
JOBSET = Module("sigs.k8s.io/jobset", "v0.8.0", "h1:80cJcPld+IMdKFOqzEW4et3Y6lGAPcP8YmBZ+aiKGYA=")
VOLCANO = Module("volcano.sh/volcano", "v1.10.0", "h1:+GzQinGgeV0j58WpWpxByOXgF+YfUPW55zghM8GqjF0=")
SCHEDULER_PLUGINS = Module("sigs.k8s.io/scheduler-plugins", "v0.32.7", "h1:fGr4JKraaTe6it4PIqUlXStfctFKYxJgYkDsiU6699o=")
VERTICAL_POD_AUTOSCALER = Module(
    "k8s.io/autoscaler/vertical-pod-autoscaler", "v1.2.1", "h1:t5t0Rsn4b7iQfiVlGdWSEnEx8pjrSM96Sn4Dvo1QH/Q="
)
PROMETHEUS_OPERATOR = Module(
    "github.com/prometheus-operator/prometheus-operator", "v0.85.0", "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="
)
"""Its CRDs alone are used."""

PROGRAMS: dict[str, tuple[Module, str]] = {
    # The binaries have the names that they have in the images of the projects: client-go derives field managers from them.
    "training-operator/manager": (TRAINING_OPERATOR, "./cmd/training-operator.v1"),
    "mpi-operator/mpi-operator": (MPI_OPERATOR, "./cmd/mpi-operator"),
    "jobset/manager": (JOBSET, "."),
    "kueue/manager": (KUEUE, "./cmd/kueue"),
    "scheduler-plugins/kube-scheduler": (SCHEDULER_PLUGINS, "./cmd/scheduler"),
    "vertical-pod-autoscaler/updater": (VERTICAL_POD_AUTOSCALER, "./pkg/updater"),
    "volcano/vc-scheduler": (VOLCANO, "./cmd/scheduler"),
    "volcano/vc-controller-manager": (VOLCANO, "./cmd/controller-manager"),
}


@functools.cache
def module_directory(module: Module) -> Path:
    """The files of the module in Go's module cache. Raises build.BuildFailed."""
    command = [build.go_tool((1, 22)), "mod", "download", "-json", f"{module.path}@{module.version}"]
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "", "GO111MODULE": "on"}
    with tempfile.TemporaryDirectory() as outside_of_any_module:
        result = subprocess.run(command, cwd=outside_of_any_module, env=environment, capture_output=True, text=True, check=False)
    found = json.loads(result.stdout or "{}")
    if result.returncode or "Dir" not in found:
        raise build.BuildFailed(f"{' '.join(command)}: {found.get('Error') or result.stderr}")
    if found["Sum"] != module.checksum:
        raise build.BuildFailed(f"{module.path}@{module.version} has checksum {found['Sum']}, expected {module.checksum}")
    return Path(found["Dir"])


def program(name: str) -> Path:
    """The path of a program; builds it if it is not in the cache. Raises build.BuildFailed."""
    module, package = PROGRAMS[name]
    folder, _, binary = name.partition("/")
    digest = re.sub(r"\W", "", module.checksum)[2:10]
    target = build.cache() / "ecosystem" / f"{folder}-{module.version}-{digest}" / binary
    target.parent.mkdir(parents=True, exist_ok=True)
    with build.only_one_at_a_time(target.with_name(f".{binary}.lock"), name):
        if not target.exists():
            _build(name, module_directory(module), package, target)
    return target


def _build(name: str, source: Path, package: str, target: Path) -> None:
    wanted = re.search(r"^go ([0-9.]+)$", (source / "go.mod").read_text(), re.MULTILINE)
    assert wanted, "go.mod has a go line"
    go = build.go_tool(tuple(int(part) for part in wanted[1].split(".")))
    build.report(f"{name} is built from source, once: two to eight minutes with 2 cores")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as work:
        unfinished = Path(work) / target.name
        flags = ("-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", "-s -w")
        build.go_build([go, "build", *flags, "-o", str(unfinished), package], source, name)
        unfinished.rename(target)


def main(names: list[str]) -> int:
    try:
        for name in names or PROGRAMS:
            build.report(f"{name}: {program(name)}")
    except build.BuildFailed as error:
        build.report(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
