"""The software bill of materials: the packages that a release installs, in SPDX 2.3."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import re
from pathlib import Path
from typing import Any

from traincrew import __version__

LOCK = Path(__file__).resolve().parents[2] / "requirements" / "runtime.txt"
_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==([^ \\]+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
_UNKNOWN = "NOASSERTION"


def document(epoch: int) -> str:
    own = _package("traincrew", __version__, "Apache-2.0")
    packages = [_pinned(*found) for found in _ENTRY.findall(LOCK.read_text())]
    created = dt.datetime.fromtimestamp(epoch, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"traincrew-{__version__}",
        "documentNamespace": f"https://spdx.org/spdxdocs/traincrew-{__version__}-{epoch}",
        "creationInfo": {"created": created, "creators": [f"Tool: traincrew-release-{__version__}"]},
        "packages": [own, *packages],
        "relationships": [
            _relationship("SPDXRef-DOCUMENT", "DESCRIBES", own),
            *(_relationship(own["SPDXID"], "DEPENDS_ON", each) for each in packages),
        ],
    }
    return json.dumps(body, indent=2) + "\n"


def _pinned(name: str, version: str, rest: str) -> dict[str, Any]:
    """`requirements/runtime.txt` has the checksums of its files, any of which may be installed."""
    package = _package(name, version, _license(name))
    if marker := re.search(r"; (.+?) \\", rest):
        package["comment"] = f"Installed if {marker[1]}"
    return package


def _package(name: str, version: str, license_name: str) -> dict[str, Any]:
    reference = {
        "referenceCategory": "PACKAGE-MANAGER",
        "referenceType": "purl",
        "referenceLocator": f"pkg:pypi/{name.lower()}@{version}",
    }
    return {
        "SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', name)}",
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
