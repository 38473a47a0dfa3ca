"""Volcano's own controllers and its scheduler, with the configuration that its chart installs."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

from tests.ecosystem import programs_of_others
from tools.ecosystem import programs
from tools.kube import cluster


@contextlib.contextmanager
def running(kube: cluster.Cluster, folder: pathlib.Path) -> Iterator[None]:
    """folder: for plugins, of which there are none."""
    source = programs.module_directory(programs.VOLCANO)
    for each in ("volcano", "jobflow"):
        programs_of_others.apply_crds(kube, source / "config" / "crd" / each / "bases")
    assert kube.kubectl("create", "namespace", "volcano-system").returncode == 0
    common = (f"--kubeconfig={kube.kubeconfig}", "--leader-elect=false", "--enable-healthz=false")
    configuration = source / "installer" / "helm" / "chart" / "volcano" / "config" / "volcano-scheduler.conf"
    scheduling = (f"--scheduler-conf={configuration}", "--cache-dumper=false", f"--plugins-dir={folder}")
    with contextlib.ExitStack() as stack:
        for name, flags in (("vc-controller-manager", ()), ("vc-scheduler", scheduling)):
            stack.enter_context(programs_of_others.running(f"volcano/{name}", [*common, *flags], kube.kubeconfig))
        yield
