"""`kubectl port-forward` to one pod of the console."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator

from tests.console_cluster.release import NAMESPACE, Release
from tools.kube import build


@contextlib.contextmanager
def forwarding(release: Release, pod: str) -> Iterator[str]:
    """The address of one replica at this machine."""
    environment = {**os.environ, "KUBECONFIG": str(release.machine.kube.kubeconfig)}
    command = [str(build.program("kubectl")), "-n", NAMESPACE, "port-forward", f"pod/{pod}", ":8470"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"127\.0\.0\.1:\d+", line)
            assert found, line
            yield f"http://{found[0]}"
        finally:
            process.terminate()
