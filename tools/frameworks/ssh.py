"""What v2beta1 MPIJobs need of an image: sshd, and settings for it and for ssh that suit pods.

In <cache>/frameworks/ssh/<environment>: files of /etc/ssh and of the home of mpiuser, the user of the public images. All pods of
an environment see them, so they are mounted one by one and read-only: the directories around them are the container's own.
Keys of users come from the job; the host key made here identifies nobody, since clients in pods do not check it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tools.frameworks import cache_paths, debian
from tools.frameworks.commands import BuildFailed, report, run

PORT = 2222
"""Above 1024: a worker that runs as mpiuser may listen there."""
SSHD = Path("/usr/sbin/sshd")
PACKAGES = ("openssh-server", "libwrap0")
_HOST_KEY = "ssh_host_ed25519_key"

_CLIENT = f"""Host *
    Port {PORT}
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""
_SERVER = f"""Port {PORT}
HostKey /etc/ssh/{_HOST_KEY}
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
MaxStartups 100
"""
_OF_MPIUSER = f"""Port {PORT}
PidFile none
HostKey /home/mpiuser/.ssh/id_rsa
StrictModes no
PasswordAuthentication no
UsePAM no
MaxStartups 100
"""


def provide(environment: Path, variables: Mapping[str, str]) -> tuple[tuple[Path, str], ...]:
    """What a pod must see, and where; nothing of it changes the machine but a missing package, and that only as root.

    A session has none of the container's variables, so it would find the machine's MPI instead of the environment's.
    """
    where = cache_paths.root() / "ssh" / environment.name
    path = f"{environment}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    with cache_paths.only_one_at_a_time("ssh", report):
        _write(where, "SetEnv " + " ".join(f"{name}={value}" for name, value in {"PATH": path, **variables}.items()) + "\n")
        programs = () if SSHD.exists() else _programs(cache_paths.root() / "ssh")
    return (
        *((where / "etc" / name, f"/etc/ssh/{name}") for name in ("ssh_config", "sshd_config", _HOST_KEY, f"{_HOST_KEY}.pub")),
        (where / "run", "/run/sshd"),
        (where / "home" / ".sshd_config", "/home/mpiuser/.sshd_config"),
        (where / "passwd", "/etc/passwd"),
        *programs,
    )


def _write(where: Path, session: str) -> None:
    for folder in ("etc", "run", "home"):
        (where / folder).mkdir(parents=True, exist_ok=True, mode=0o755)
    (where / "etc" / "ssh_config").write_text(_CLIENT)
    (where / "etc" / "sshd_config").write_text(_SERVER + session)
    (where / "home" / ".sshd_config").write_text(_OF_MPIUSER + session)
    (where / "passwd").write_text(_accounts(Path("/etc/passwd").read_text()))
    key = where / "etc" / _HOST_KEY
    if not key.exists():
        if shutil.which("ssh-keygen") is None:
            raise BuildFailed("ssh: no ssh-keygen on this machine: as root, `apt-get install openssh-client`")
        run("ssh", ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "pods of one machine", "-f", str(key)])


def _accounts(known: str) -> str:
    """Those of this machine, and the two that sshd and the public images count on.

    Root gets a plain shell: bash would read root's own files, which put other Pythons first.
    """
    lines = [line for line in known.splitlines() if line.split(":")[2:3] != ["1000"] and not line.startswith("mpiuser:")]
    lines = [line.rpartition(":")[0] + ":/bin/sh" if line.startswith("root:") else line for line in lines]
    if not any(line.startswith("sshd:") for line in lines):
        lines.append("sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin")
    return "\n".join([*lines, "mpiuser:x:1000:1000::/home/mpiuser:/bin/sh", ""])


def _programs(where: Path) -> tuple[tuple[Path, str], ...]:
    if os.geteuid() == 0 and shutil.which("apt-get"):
        debian.install("openssh-server")
        return ()
    return unpacked(where / "prefix")


def unpacked(prefix: Path) -> tuple[tuple[Path, str], ...]:
    """What a pod must see of sshd, and where, on a machine that has none; nothing is installed."""
    debian.unpack(PACKAGES, prefix)
    libraries = [path for path in prefix.rglob("libwrap.so.0") if not Path("/", path.relative_to(prefix)).exists()]
    # Recent ones have parts of their own for sessions.
    programs = [prefix / "usr/sbin/sshd", *prefix.glob("usr/lib/openssh/sshd-*")]
    return tuple((path.resolve(), f"/{path.relative_to(prefix)}") for path in [*programs, *libraries])
