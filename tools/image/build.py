"""Builds the operator's image without a registry and without a container engine: Debian packages, the wheel, kubectl.

    python -m tools.image.build [NAME:TAG]     writes dist/traincrew-VERSION.oci.tar and its bill of materials

Pinned are the Python packages (requirements/runtime.txt, by hash) and the Go modules of kubectl (go.sum). The Debian packages
are those that the mirror has; the label `traincrew.debian` names their versions. IMAGE_MIRROR names another mirror.
"""

from __future__ import annotations

import datetime as dt
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from packaging.requirements import Requirement
from tools.console import build as console_page
from tools.frameworks.commands import BuildFailed, report, run
from tools.image import debian_root, oci, sbom
from tools.image.sbom import DebianPackage
from tools.kube import build as kube
from tools.release import source_copy

from traincrew import __version__

TOP = Path(__file__).resolve().parents[2]
PAGE = console_page.PAGE.relative_to(TOP)
LIBRARY = "opt/traincrew/lib"
PACKAGES = ("python3", "dash", "busybox-static", "libstdc++6")
APPLETS = ("cat", "cp", "cut", "grep", "ls", "mkdir", "sed", "sleep", "test", "true")
"""What the scripts of init containers call, and a little more for people who look into a container. Not `sh`: the shell of
busybox would run its own nslookup, which does not use the search domains of a pod."""
_COMMAND = f"""#!/usr/bin/python3 -I
import sys

sys.path.insert(0, "/{LIBRARY}")
from traincrew.cli.main import main

sys.exit(main())
"""
_TOOLS = f"""import pathlib, sys
sys.path.insert(0, "/{LIBRARY}")
from traincrew.embedded.kubelet.images import tools_directory
tools_directory.install(pathlib.Path("/usr/local/lib/traincrew"))"""
# Containers have a read-only root: without these files every start of the waiter would compile the modules again.
_COMPILE = f"/usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3.11 /{LIBRARY}"


def build(name: str, archive: Path) -> int:
    epoch = int(_git("log", "-1", "--format=%ct") or 0)
    with tempfile.TemporaryDirectory(prefix="traincrew-image-") as folder:
        work, files = Path(folder), Path(folder, "files")
        work.chmod(0o755)
        _install_python_packages(work, files / LIBRARY, epoch)
        _write_programs(files)
        layer = work / "layer.tar"
        commands = (f"/usr/bin/python3 -I -c '{_TOOLS}'", _COMPILE)
        debian_root.write(debian_root.DebianRoot(PACKAGES, files, commands), layer, epoch)
        packages = _debian_packages(layer)
        content = sbom.ImageContent(packages, files / LIBRARY, files / "usr" / "local" / "bin" / "kubectl")
        archive.parent.mkdir(parents=True, exist_ok=True)
        bill_of_materials(archive).write_text(sbom.document(content, epoch))
        return oci.write(layer, _config(name, packages, epoch), archive)


def bill_of_materials(archive: Path) -> Path:
    return archive.with_name(f"{archive.name.removesuffix('.oci.tar')}.image.spdx.json")


def _config(name: str, packages: list[DebianPackage], epoch: int) -> oci.ImageConfig:
    return oci.ImageConfig(
        name,
        entrypoint=("/usr/local/bin/traincrew",),
        command=("operator",),
        user="65532:65532",
        created=dt.datetime.fromtimestamp(epoch, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        labels=(
            ("org.opencontainers.image.title", "traincrew"),
            ("org.opencontainers.image.version", __version__),
            ("org.opencontainers.image.revision", _git("rev-parse", "HEAD")),
            ("traincrew.debian", " ".join(f"{each.name}={each.version}" for each in packages)),
        ),
    )


def _debian_packages(layer: Path) -> list[DebianPackage]:
    found = []
    with tarfile.open(layer) as archive:
        for member in archive:
            if "var/lib/dpkg/status.d/" in member.name and member.isfile() and (file := archive.extractfile(member)):
                fields = dict(line.split(": ", 1) for line in file.read().decode().splitlines() if ": " in line)
                found.append(DebianPackage(fields["Package"], fields["Version"], fields["Architecture"]))
    return sorted(found)


def _install_python_packages(work: Path, target: Path, epoch: int) -> None:
    pip = [sys.executable, "-m", "pip"]
    built = wheel(work, epoch)
    pinned = work / "requirements.txt"
    pinned.write_text(_requirements((TOP / "requirements" / "runtime.txt").read_text()))
    install = [*pip, "install", "--quiet", "--no-deps", "--no-compile", "--target", str(target), "--only-binary=:all:"]
    version = ".".join(map(str, debian_root.PYTHON))
    machine = platform.machine()
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(36, 16, -1)]
    for tag in (*tags, f"manylinux2014_{machine}", "any"):
        install += ["--platform", tag]
    install += ["--implementation", "cp", "--python-version", version]
    run("the packages of requirements/runtime.txt", [*install, "--require-hashes", "-r", str(pinned)])
    run("the wheel", [*install, "--upgrade", str(built)])
    shutil.rmtree(target / "bin", ignore_errors=True)  # their first line names the interpreter of this machine
    for path in target.glob("*.dist-info/direct_url.json"):
        path.unlink()


def wheel(work: Path, epoch: int, top: Path = TOP) -> Path:
    """With the page of the console, if it was built: git does not know it."""
    source = work / "source"
    source_copy.copy(source, top)
    if (page := top / PAGE).exists():
        shutil.copytree(page, source / PAGE, dirs_exist_ok=True)
    return source_copy.build(source, work, epoch, "build_wheel")


def _requirements(text: str) -> str:
    """The pins that apply to the Python of the image. pip evaluates markers for the Python that runs it."""
    kept = []
    for block in text.replace("\\\n", " ").splitlines():
        if not block.strip() or block.lstrip().startswith("#"):
            continue
        words, *hashes = block.split(" --hash=")
        requirement = Requirement(words.strip())
        python = {"python_version": "3.11", "python_full_version": "3.11.2", "implementation_name": "cpython"}
        if requirement.marker is None or requirement.marker.evaluate({**python, "platform_python_implementation": "CPython"}):
            requirement.marker = None
            kept.append(" ".join([str(requirement), *(f"--hash={each.strip()}" for each in hashes)]))
    return "\n".join(kept) + "\n"


def _write_programs(files: Path) -> None:
    local = files / "usr" / "local" / "bin"
    for folder in (local, files / "etc", files / "bin"):
        folder.mkdir(parents=True, exist_ok=True)
    (local / "traincrew").write_text(_COMMAND)
    (local / "traincrew").chmod(0o755)
    shutil.copy(kube.program("kubectl"), local / "kubectl")
    for name in ("nslookup", "traincrew-wait"):
        (local / name).symlink_to(f"../lib/traincrew/bin/{name}")
    for name in APPLETS:
        (files / "bin" / name).symlink_to("busybox")
    (files / "bin" / "sh").symlink_to("dash")
    (files / "etc" / "passwd").write_text(debian_root.PASSWD)
    (files / "etc" / "group").write_text(debian_root.GROUP)
    for path in files.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=TOP, capture_output=True, text=True, check=False).stdout.strip()


def main(words: list[str]) -> int:
    name = words[0] if words else f"traincrew:{__version__}"
    archive = TOP / "dist" / f"traincrew-{__version__}.oci.tar"
    try:
        size = build(name, archive)
    except (BuildFailed, kube.BuildFailed) as error:
        report(str(error))
        return 1
    report(f"{name}: {size / 1e6:.0f} MB compressed. Import it on each node: ctr --namespace k8s.io images import {archive.name}")
    print(archive)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
