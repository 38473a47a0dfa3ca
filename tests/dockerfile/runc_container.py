"""Runs a program of an image with runc: as the user of the image, without capabilities, on a read-only root file system."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Object = dict[str, Any]


class ImageRoot:
    """The mounted root file system of an image, and its configuration."""

    def __init__(self, image: str, root: pathlib.Path, work: pathlib.Path) -> None:
        self._root, self._work = root, work
        inspected = subprocess.run(["buildah", "inspect", "--type=image", image], capture_output=True, text=True, check=True)
        self.config: Object = json.loads(inspected.stdout)["OCIv1"]["config"]

    def run(self, *words: str, mounts: Mapping[pathlib.Path, str] | None = None) -> subprocess.CompletedProcess[str]:
        with self.started(words, mounts or {}) as process:
            output, errors = process.communicate(timeout=120)
        return subprocess.CompletedProcess(words, process.returncode, output, errors)

    @contextlib.contextmanager
    def started(self, words: Sequence[str], mounts: Mapping[pathlib.Path, str]) -> Iterator[subprocess.Popen[str]]:
        """mounts: files of this machine and their paths in the container, which has the network of this machine."""
        name = f"traincrew-{uuid.uuid4().hex[:8]}"
        bundle = self._work / name
        bundle.mkdir()
        (bundle / "config.json").write_text(json.dumps(self._specification(words, mounts)))
        command = ["runc", "--root", str(self._work / "state"), "run", "--bundle", str(bundle), name]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()  # runc passes the signal on
                process.communicate(timeout=60)

    def _specification(self, words: Sequence[str], mounts: Mapping[pathlib.Path, str]) -> Object:
        subprocess.run(["runc", "spec"], cwd=self._work, check=True)
        path = self._work / "config.json"
        found: Object = json.loads(path.read_text())
        path.unlink()
        user, group = map(int, self.config["User"].split(":"))
        found["root"] = {"path": str(self._root), "readonly": True}
        found["process"] |= {
            "terminal": False,
            "args": list(words),
            "user": {"uid": user, "gid": group},
            "env": self.config.get("Env") or [],
            "capabilities": {},
            "noNewPrivileges": True,
        }
        found["linux"]["namespaces"] = [each for each in found["linux"]["namespaces"] if each["type"] != "network"]
        found["mounts"] += [
            {"destination": inside, "source": str(outside), "type": "bind", "options": ["bind", "ro"]}
            for outside, inside in mounts.items()
        ]
        return found


@contextlib.contextmanager
def mounted(image: str, work: pathlib.Path) -> Iterator[ImageRoot]:
    container = _buildah("from", "--pull-never", image)
    try:
        yield ImageRoot(image, pathlib.Path(_buildah("mount", container)), work)
    finally:
        _buildah("umount", container)
        _buildah("rm", container)


def _buildah(*words: str) -> str:
    return subprocess.run(["buildah", *words], capture_output=True, text=True, check=True).stdout.strip()
