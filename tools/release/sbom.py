"""The software bill of materials: the packages that a release installs, and those of the console's page, in SPDX 2.3."""

from __future__ import annotations

import base64
import datetime as dt
import importlib.metadata
import json
import re
from pathlib import Path
from typing import Any

from tools.release import npm_packages
from tools.release.npm_packages import NpmPackage

from traincrew import __version__

LOCK = Path(__file__).resolve().parents[2] / "requirements" / "runtime.txt"
_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==([^ \\]+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
_UNKNOWN = "NOASSERTION"


def document(epoch: int) -> str:
    own = _package("pypi", "traincrew", __version__, "Apache-2.0")
    packages = [_pinned(*found) for found in _ENTRY.findall(LOCK.read_text())]
    of_page = [(each, _npm_package(each)) for each in npm_packages.pinned()]
    created = dt.datetime.fromtimestamp(epoch, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"traincrew-{__version__}",
        "documentNamespace": f"https://spdx.org/spdxdocs/traincrew-{__version__}-{epoch}",
        "creationInfo": {"created": created, "creators": [f"Tool: traincrew-release-{__version__}"]},
        "packages": [own, *packages, *(package for _, package in of_page)],
        "relationships": [
            _relationship("SPDXRef-DOCUMENT", "DESCRIBES", own),
            *(_relationship(own["SPDXID"], "DEPENDS_ON", each) for each in packages),
            *(_relationship(own["SPDXID"], "CONTAINS", package) for each, package in of_page if each.contained),
            *(_relationship(package["SPDXID"], "BUILD_DEPENDENCY_OF", own) for each, package in of_page if not each.contained),
        ],
    }
    return json.dumps(body, indent=2) + "\n"


def _pinned(name: str, version: str, rest: str) -> dict[str, Any]:
    """`requirements/runtime.txt` has the checksums of its files, any of which may be installed."""
    package = _package("pypi", name, version, _license(name))
    if marker := re.search(r"; (.+?) \\", rest):
        package["comment"] = f"Installed if {marker[1]}"
    return package


def _npm_package(of: NpmPackage) -> dict[str, Any]:
    package = _package("npm", of.name, of.version, of.license or _UNKNOWN)
    algorithm, _, digest = of.integrity.partition("-")
    if digest:
        package["checksums"] = [{"algorithm": algorithm.upper(), "checksumValue": base64.b64decode(digest).hex()}]
    return package


def _package(source: str, name: str, version: str, license_name: str) -> dict[str, Any]:
    """source: the type of a package URL, `pypi` or `npm`."""
    reference = {
        "referenceCategory": "PACKAGE-MANAGER",
        "referenceType": "purl",
        "referenceLocator": f"pkg:{source}/{name.lower().replace('@', '%40')}@{version}",
    }
    return {
        "SPDXID": f"SPDXRef-{'' if source == 'pypi' else f'{source}-'}{re.sub('[^A-Za-z0-9.-]', '-', name)}-{version}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": _UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": _UNKNOWN,
        "licenseDeclared": license_name,
        "copyrightText": _UNKNOWN,
        "externalRefs": [reference],
    }


def _license(name: str) -> str:
    """The SPDX expression of the installed package. Free text is no expression."""
    try:
        found = importlib.metadata.metadata(name).get_all("License-Expression") or [_UNKNOWN]
    except importlib.metadata.PackageNotFoundError:
        return _UNKNOWN
    return str(found[0])


def _relationship(one: str, relation: str, other: dict[str, Any]) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": relation, "relatedSpdxElement": other["SPDXID"]}
