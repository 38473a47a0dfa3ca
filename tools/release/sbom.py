"""The software bill of materials: the packages that a release installs, and those of the console's page, in SPDX 2.3."""

from __future__ import annotations

import base64
import importlib.metadata
import re
from pathlib import Path
from typing import Any

from tools.release import npm_packages, spdx
from tools.release.npm_packages import NpmPackage

from traincrew import __version__

LOCK = Path(__file__).resolve().parents[2] / "requirements" / "runtime.txt"
_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==([^ \\]+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)


def document(epoch: int) -> str:
    own = spdx.package("pypi", "traincrew", __version__, "Apache-2.0")
    packages = [_pinned(*found) for found in _ENTRY.findall(LOCK.read_text())]
    of_page = [(each, npm_package(each)) for each in npm_packages.pinned()]
    relationships = [
        *(spdx.relationship(own["SPDXID"], "DEPENDS_ON", each) for each in packages),
        *(spdx.relationship(own["SPDXID"], "CONTAINS", package) for each, package in of_page if each.contained),
        *(spdx.relationship(package["SPDXID"], "BUILD_DEPENDENCY_OF", own) for each, package in of_page if not each.contained),
    ]
    return spdx.document(f"traincrew-{__version__}", epoch, own, [*packages, *(each for _, each in of_page)], relationships)


def _pinned(name: str, version: str, rest: str) -> dict[str, Any]:
    """`requirements/runtime.txt` has the checksums of its files, any of which may be installed."""
    package = spdx.package("pypi", name, version, license_of(name))
    if marker := re.search(r"; (.+?) \\", rest):
        package["comment"] = f"Installed if {marker[1]}"
    return package


def npm_package(of: NpmPackage) -> dict[str, Any]:
    package = spdx.package("npm", of.name, of.version, of.license or spdx.UNKNOWN)
    algorithm, _, digest = of.integrity.partition("-")
    if digest:
        package["checksums"] = [{"algorithm": algorithm.upper(), "checksumValue": base64.b64decode(digest).hex()}]
    return package


def license_of(name: str) -> str:
    """The SPDX expression of the installed package. Free text is no expression."""
    try:
        found = importlib.metadata.metadata(name).get_all("License-Expression") or [spdx.UNKNOWN]
    except importlib.metadata.PackageNotFoundError:
        return spdx.UNKNOWN
    return str(found[0])
