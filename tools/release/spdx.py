"""Documents in SPDX 2.3: packages with their package URLs, and how they relate."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

from traincrew import __version__

Object = dict[str, Any]
UNKNOWN = "NOASSERTION"


def document(name: str, epoch: int, described: Object, packages: list[Object], relationships: list[Object]) -> str:
    """described: the package that the document is about; it is not one of `packages`."""
    created = dt.datetime.fromtimestamp(epoch, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{epoch}",
        "creationInfo": {"created": created, "creators": [f"Tool: traincrew-release-{__version__}"]},
        "packages": [described, *packages],
        "relationships": [relationship("SPDXRef-DOCUMENT", "DESCRIBES", described), *relationships],
    }
    return json.dumps(body, indent=2) + "\n"


def package(source: str, name: str, version: str, license_name: str = UNKNOWN, qualifiers: str = "") -> Object:
    """source: the type of a package URL, such as `pypi`, with its namespace if it has one; qualifiers: `arch=amd64`."""
    path = f"{source}/{name}".lower().replace("@", "%40")
    locator = f"pkg:{path}@{version.replace('+', '%2B').replace(':', '%3A')}{f'?{qualifiers}' if qualifiers else ''}"
    reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
    kind = source.partition("/")[0]
    return {
        "SPDXID": _identifier(*([] if kind == "pypi" else [kind]), name, version),
        "name": name,
        "versionInfo": version,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": license_name,
        "copyrightText": UNKNOWN,
        "externalRefs": [reference],
    }


def relationship(one: str, relation: str, other: Object) -> Object:
    return {"spdxElementId": one, "relationshipType": relation, "relatedSpdxElement": other["SPDXID"]}


def _identifier(*parts: str) -> str:
    return "SPDXRef-" + "-".join(re.sub("[^A-Za-z0-9.-]", "-", part) for part in parts)
