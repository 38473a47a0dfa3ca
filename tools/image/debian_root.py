"""A root file system of Debian packages and own files, as a tar archive, by mmdebstrap."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
from pathlib import Path

from tools.frameworks.commands import BuildFailed, run

SUITE = "bookworm"
PYTHON = (3, 11)
"""The version of Python in this suite."""
PASSWD = "root:x:0:0:root:/root:/bin/sh\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"  # noqa: S105
GROUP = "root:x:0:\nnonroot:x:65532:\n"
DROPPED = (
    "usr/share/man usr/share/locale usr/share/lintian usr/share/info usr/share/bug usr/share/perl5 usr/share/debconf "
    "var/log lib/systemd usr/lib/x86_64-linux-gnu/gconv usr/lib/aarch64-linux-gnu/gconv "
    "usr/lib/python3.11/pydoc_data usr/lib/python3.11/idlelib usr/lib/python3.11/lib2to3 usr/lib/python3.11/ensurepip"
)


@dataclasses.dataclass(frozen=True)
class DebianRoot:
    packages: tuple[str, ...]
    files: Path
    """A directory whose content is copied over the root."""
    commands: tuple[str, ...] = ()
    """Shell commands that run in the root, in the end."""
    variant: str = "extract"
    """`extract`: only the files of the packages. `essential`: a complete system, in which packages are configured."""


def write(root: DebianRoot, target: Path, epoch: int) -> None:
    """IMAGE_MIRROR names the Debian mirror; default: that of mmdebstrap."""
    if shutil.which("mmdebstrap") is None:
        raise BuildFailed("mmdebstrap is not installed: run `apt-get install mmdebstrap` as root (`make image` does it as root)")
    status = 'mkdir -p "$1/var/lib/dpkg/status.d"; for deb in "$1"/var/cache/apt/archives/*.deb; do '
    status += 'dpkg-deb -f "$deb" > "$1/var/lib/dpkg/status.d/$(dpkg-deb -f "$deb" Package)"; done'
    # The copyright files of the packages stay.
    drop = f'cd "$1" && rm -rf {DROPPED} && find usr/share/doc -type f ! -name copyright -delete'
    small = root.variant == "extract"
    hooks = [status] if small else []
    hooks += [f'cp -a --no-preserve=ownership {shlex.quote(str(root.files))}/. "$1"/']
    hooks += [f'chroot "$1" /bin/sh -c {shlex.quote(command)}' for command in root.commands]
    hooks += [drop] if small else []
    command = ["mmdebstrap", f"--variant={root.variant}", f"--include={','.join(root.packages)}"]
    # With this variant the hooks for customizing are not run.
    kind = "extract" if small else "customize"
    command += [f"--{kind}-hook={hook}" for hook in hooks]
    mirror = os.environ.get("IMAGE_MIRROR")
    run("mmdebstrap", [*command, SUITE, str(target), *([mirror] if mirror else [])], extra={"SOURCE_DATE_EPOCH": str(epoch)})
