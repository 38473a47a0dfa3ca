"""Pins the packages of the page: web/package.json to web/package-lock.json, without addresses of a registry. `make lock` runs it.

Compilers have one package for each platform, of which npm installs the one for this machine. A registry that mirrors only some of
them answers 404 for the others, and npm leaves these out of the lock file, which `npm ci` then refuses. They are added here with
their version and platform. They have no hash: npm does not verify the compilers of such a platform.
"""

from __future__ import annotations

import json
from typing import Any

from tools.console import node

OSES = ("aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32")
CPUS = ("arm64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64")
LIBCS = {"gnu": "glibc", "musl": "musl", "gnueabihf": "glibc", "musleabihf": "musl"}

Package = dict[str, Any]


def platform_package(name: str, version: str) -> Package:
    words = name.rsplit("/", 1)[-1].replace("x32", "ia32").split("-")
    package: Package = {"version": version, "license": "MIT", "optional": True}
    for field, known in (("os", OSES), ("cpu", CPUS)):
        if found := [each for each in known if each in words]:
            package[field] = found[:1]
    if libc := [LIBCS[each] for each in words if each in LIBCS]:
        package["libc"] = libc[:1]
    package.setdefault("cpu", ["none"])
    return package


def completed(lock: dict[str, Any]) -> dict[str, Any]:
    packages: dict[str, Package] = {
        path: {key: value for key, value in package.items() if key != "resolved"} for path, package in lock["packages"].items()
    }
    missing = {
        f"node_modules/{name}": platform_package(name, version)
        for package in packages.values()
        for name, version in package.get("optionalDependencies", {}).items()
        if f"node_modules/{name}" not in packages and version[:1].isdigit()
    }
    return {**lock, "packages": dict(sorted({**packages, **missing}.items()))}


def main() -> None:
    node.run("npm", "install", "--package-lock-only", "--no-progress", "--loglevel=error")
    node.LOCK.write_text(json.dumps(completed(json.loads(node.LOCK.read_text())), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
