"""Builds the Dockerfile with buildah, on base images of Debian packages in the place of those of a registry.

    python -m tools.image.dockerfile [NAME]     builds the image traincrew:VERSION-dockerfile, or NAME, into buildah's storage

The Dockerfile is used as it is, with its arguments for base images, for package indexes and for a certificate authority: the
bases have a Python of Debian, and the Go of this machine. So everything is proven but the names and digests of the bases.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

from tools.frameworks.commands import BuildFailed, report, run
from tools.image import debian_root
from tools.kube import build as kube

from traincrew import __version__

TOP = pathlib.Path(__file__).resolve().parents[2]
IMAGE = f"localhost/traincrew:{__version__}-dockerfile"
PYTHON_BASE, GO_BASE = "localhost/traincrew-python-base:1", "localhost/traincrew-go-base:1"
AUTHORITIES = pathlib.Path("/usr/local/share/ca-certificates")
"""The place of Debian for certificate authorities of a site."""
GO_WANTED = (1, 23)


def build(name: str = IMAGE) -> None:
    """Raises BuildFailed."""
    if not _exists(PYTHON_BASE):
        _base(PYTHON_BASE, ("python3", "python3-venv", "ca-certificates"))
    if not _exists(GO_BASE):
        _base(GO_BASE, ("ca-certificates",), go_root=True)
    arguments = {"PYTHON_IMAGE": PYTHON_BASE, "GO_IMAGE": GO_BASE}
    arguments |= {key: os.environ[key] for key in ("PIP_INDEX_URL", "GOPROXY", "GOSUMDB") if os.environ.get(key)}
    if authorities := "".join(path.read_text() for path in sorted(AUTHORITIES.glob("*.crt"))):
        arguments["CA_CERTIFICATE"] = authorities
    words = [word for key, value in arguments.items() for word in ("--build-arg", f"{key}={value}")]
    # Without a container network: the build needs package indexes, which are reached as from this machine.
    options = ("--isolation=chroot", "--network=host", "--pull-never", "--layers", "--format=oci")
    run("buildah", ["buildah", "build", *options, *words, "--tag", name, str(TOP)])


def _exists(name: str) -> bool:
    return subprocess.run(["buildah", "inspect", "--type=image", name], capture_output=True, check=False).returncode == 0


def _base(name: str, packages: tuple[str, ...], *, go_root: bool = False) -> None:
    report(f"base image {name}: Debian packages {' '.join(packages)}{' and Go' if go_root else ''}")
    with tempfile.TemporaryDirectory(prefix="traincrew-base-") as folder:
        work = pathlib.Path(folder)
        work.chmod(0o755)
        files, layer = work / "files", work / "layer.tar"
        files.mkdir(mode=0o755)
        debian_root.write(debian_root.DebianRoot(packages, files, variant="essential"), layer, 0)
        container = run("buildah", ["buildah", "from", "scratch"]).split()[-1]
        try:
            run("buildah", ["buildah", "add", container, str(layer), "/"])
            if go_root:
                root = run("go", [kube.go_tool(GO_WANTED), "env", "GOROOT"]).strip()
                run("buildah", ["buildah", "add", container, root, "/usr/local/go"])
                path = "/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
                run("buildah", ["buildah", "config", "--env", f"PATH={path}", container])
            run("buildah", ["buildah", "commit", "--format=oci", container, name])
        finally:
            run("buildah", ["buildah", "rm", container])


def main(words: list[str]) -> int:
    name = words[0] if words else IMAGE
    try:
        build(name)
    except (BuildFailed, kube.BuildFailed) as error:
        report(str(error))
        return 1
    print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
