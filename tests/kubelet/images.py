"""The images of the tests, built once into the cache: what jobs run, the sandbox container of every pod, and py-spy.

python -m tests.kubelet.images      builds what is missing
"""

from __future__ import annotations

import hashlib
import pathlib
import shutil
import sys
import sysconfig
import tempfile

from tools.frameworks.commands import BuildFailed, report
from tools.image import debian_root, oci
from tools.kube import build as kube

WORKLOAD, PAUSE, DEBUGGER = "workload:1", "pause:1", "debugger:1"
USER = 1000
_PASSWD = f"trainer:x:{USER}:{USER}:trainer:/home/trainer:/bin/sh"
_SSH = """Host *
    Port 2222
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""
_SSHD = """Port 2222
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
HostKey /home/trainer/.ssh/id_rsa
AuthorizedKeysFile /home/trainer/.ssh/authorized_keys
"""
_RECIPES = {
    WORKLOAD: debian_root.DebianRoot(
        ("python3", "openmpi-bin", "openssh-server"),
        pathlib.Path(),
        (
            f"echo {_PASSWD} >> /etc/passwd",
            f"mkdir -p /run/sshd /home/trainer && chown {USER}:{USER} /home/trainer",
        ),
        "essential",
    ),
    PAUSE: debian_root.DebianRoot(("busybox-static",), pathlib.Path()),
    DEBUGGER: debian_root.DebianRoot(("busybox-static",), pathlib.Path(), ("chmod 755 /usr/bin/py-spy",), "essential"),
}
_FILES: dict[str, dict[str, str | pathlib.Path]] = {
    WORKLOAD: {"etc/ssh/ssh_config.d/pods.conf": _SSH, "home/trainer/sshd_config": _SSHD},
    PAUSE: {"etc/passwd": debian_root.PASSWD},
    DEBUGGER: {"usr/bin/py-spy": pathlib.Path(sysconfig.get_path("scripts"), "py-spy")},
}
"""Texts, and files of this machine."""


def archive(name: str) -> pathlib.Path:
    files = {path: _content(source) for path, source in _FILES[name].items()}
    digest = hashlib.sha256(repr((_RECIPES[name], files, debian_root.SUITE)).encode()).hexdigest()[:8]
    return kube.cache() / "images" / f"{name.replace(':', '-')}-{digest}.oci.tar"


def _content(source: str | pathlib.Path) -> bytes:
    return source.read_bytes() if isinstance(source, pathlib.Path) else source.encode()


def build(name: str) -> None:
    recipe, target = _RECIPES[name], archive(name)
    if target.exists():
        return
    report(f"image {name} is built, once: three minutes, most of it downloads")
    with tempfile.TemporaryDirectory(prefix="traincrew-image-") as folder:
        work = pathlib.Path(folder)
        work.chmod(0o755)
        for path, source in _FILES[name].items():
            file = work / "files" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_content(source))
        root = debian_root.DebianRoot(recipe.packages, work / "files", recipe.commands, recipe.variant)
        debian_root.write(root, work / "layer.tar", 0)
        command = ("/bin/busybox", "sleep", "2147483647") if name == PAUSE else ()
        oci.write(work / "layer.tar", oci.ImageConfig(name, command=command), work / "image.tar")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(work / "image.tar", target)


if __name__ == "__main__":
    try:
        for each in _RECIPES:
            build(each)
    except (BuildFailed, kube.BuildFailed) as error:
        sys.exit(str(error))
