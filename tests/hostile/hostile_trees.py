"""A program for pods that makes trees which ordinary tools cannot handle, and a pod that makes them in every kind of volume."""

from __future__ import annotations

from tests.cluster.api import Object
from tests.node.local_cluster import LocalCluster, pod

DEPTH = 2100
"""Deeper than the recursion limit of Python. The path of the innermost file is longer than the kernel accepts."""

BUILD = f"""
import contextlib, os, signal, socket, stat, sys

def deep(content=b""):
    top = os.open(".", os.O_RDONLY)
    for _ in range({DEPTH}):
        os.mkdir("d")
        os.chdir("d")
    with open("file", "wb") as file:
        file.write(content)
    os.fchdir(top)

def odd():
    for name in (b"\\xff\\xfe", b"a\\nb", b"\\x1b[31m", b"-rf", b" ", b"*", b"x" * 255):
        os.makedirs(name + b"1"[: 255 - len(name)])
    os.mkfifo("fifo")
    socket.socket(socket.AF_UNIX).bind("socket")
    with contextlib.suppress(OSError):
        os.mknod("tape", stat.S_IFCHR, os.makedev(9, 0))
    for name, target in (("root", "/"), ("up", ".."), ("loop", "loop"), ("none", "/none")):
        os.symlink(target, name)
    os.makedirs("closed/inner")
    os.chmod("closed/inner", 0)
    os.chmod("closed", 0)

def wide():
    for number in range(200):
        os.makedirs(f"wide/{{number}}/inner")
        open(f"wide/file-{{number}}", "w").close()
"""

OWN = ("/var/lib/layer", "/tmp/own", "/run/own", "/dev/shm")  # noqa: S108 -- of the container
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def everywhere(cluster: LocalCluster, name: str) -> Object:
    """A pod that makes all trees in its root file system and in every kind of volume, and runs on."""
    shared = cluster.home / "shared"
    shared.mkdir(exist_ok=True)
    shared.chmod(0o777)
    sources: dict[str, Object] = {
        "disk": {"emptyDir": {}},
        "memory": {"emptyDir": {"medium": "Memory"}},
        "ephemeral": {"ephemeral": {"volumeClaimTemplate": {"spec": _CLAIM}}},
        "host": {"hostPath": {"path": str(shared)}},
    }
    paths = [*(f"/volumes/{each}" for each in sources), *OWN]
    script = (
        BUILD
        + f"""
for path in {paths!r}:
    os.makedirs(path, exist_ok=True)
    os.chdir(path)
    deep(), odd(), wide()
print("made", flush=True)
signal.pause()
"""
    )
    return pod(
        name, "python3", "-c", script, volumes=[{"name": each, **source} for each, source in sources.items()],
        volumeMounts=[{"name": each, "mountPath": f"/volumes/{each}"} for each in sources],
    )  # fmt: skip
