"""The class of pytest-kind that tests of clients use."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess


class KindCluster:
    def __init__(self, name: str, image: str | None = None) -> None:
        self.name, self.image = name, image
        self.kubeconfig_path = pathlib.Path(os.environ["KUBECONFIG"])
        self.kubectl_path = pathlib.Path(shutil.which("kubectl") or "kubectl")

    def create(self) -> None:
        """It exists."""

    def delete(self) -> None:
        """It is needed for the tests of the next client."""

    def kubectl(self, *arguments: str) -> str:
        command = [str(self.kubectl_path), *arguments]
        return subprocess.check_output(command, env={**os.environ, "KUBECONFIG": str(self.kubeconfig_path)}, text=True)
