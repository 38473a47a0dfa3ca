"""The software bill of materials of the operator's image: Debian packages, Python packages, kubectl and its Go modules."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import NamedTuple

from tools.image import debian_root, go_modules
from tools.release import npm_packages, sbom, spdx
from tools.release.spdx import Object

from traincrew import __version__


class DebianPackage(NamedTuple):
    name: str
    version: str
    architecture: str


class ImageContent(NamedTuple):
    debian: list[DebianPackage]
    library: Path
    """The directory with the Python packages."""
    kubectl: Path


def document(content: ImageContent, epoch: int) -> str:
    image = spdx.package("oci", "traincrew", __version__, "Apache-2.0")
    debian = [_debian_package(each) for each in content.debian]
    python = _python_packages(content.library)
    kubectl, modules = _go_packages(go_modules.read(content.kubectl))
    page = _page_packages(content.library)
    contained = [spdx.relationship(image["SPDXID"], "CONTAINS", each) for each in (*debian, *python, kubectl, *page)]
    linked = [spdx.relationship(kubectl["SPDXID"], "STATIC_LINK", each) for each in modules]
    packages = [*debian, *python, kubectl, *modules, *page]
    return spdx.document(f"traincrew-image-{__version__}", epoch, image, packages, [*contained, *linked])


def _debian_package(of: DebianPackage) -> Object:
    qualifiers = f"arch={of.architecture}&distro={debian_root.SUITE}"
    return spdx.package("deb/debian", of.name, of.version, qualifiers=qualifiers)


def _python_packages(library: Path) -> list[Object]:
    found = sorted((each.name, each.version) for each in importlib.metadata.distributions(path=[str(library)]))
    return [spdx.package("pypi", name, version, sbom.license_of(name)) for name, version in found]


def _go_packages(program: go_modules.GoProgram) -> tuple[Object, list[Object]]:
    modules = [*program.modules, ("stdlib", program.go)]
    return spdx.package("golang", *program.main, "Apache-2.0"), [spdx.package("golang", *each) for each in modules]


def _page_packages(library: Path) -> list[Object]:
    """The packages inside of the console's page, if the wheel has the page."""
    if not (library / "traincrew" / "console" / "page" / "index.html").exists():
        return []
    return [sbom.npm_package(each) for each in npm_packages.pinned() if each.contained]
