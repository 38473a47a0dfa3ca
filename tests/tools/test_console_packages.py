"""The packages of the page of the console: exact versions, no address of a registry, installable on every platform."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

from tools.console import lock

WEB = pathlib.Path(__file__).parents[2] / "web"


def package_json() -> dict[str, dict[str, str]]:
    read: dict[str, dict[str, str]] = json.loads((WEB / "package.json").read_text())
    return read


def lock_file() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((WEB / "package-lock.json").read_text())
    return read


def test_every_version_is_exact() -> None:
    read = package_json()
    versions = {**read["dependencies"], **read["devDependencies"]}
    assert not [name for name, version in versions.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)]


def test_all_packages_of_mantine_have_one_version() -> None:
    assert len({version for name, version in package_json()["dependencies"].items() if name.startswith("@mantine/")}) == 1


def test_the_lock_file_names_the_versions_of_package_json() -> None:
    root = lock_file()["packages"][""]
    assert (root["dependencies"], root["devDependencies"]) == (package_json()["dependencies"], package_json()["devDependencies"])


def test_the_lock_file_has_no_address_of_a_registry() -> None:
    assert not [path for path, package in lock_file()["packages"].items() if "resolved" in package]


def test_every_package_that_is_installed_here_has_a_hash() -> None:
    packages = lock_file()["packages"]
    assert not [path for path, package in packages.items() if path and "integrity" not in package and not package.get("optional")]


def test_packages_of_other_platforms_are_in_the_lock_file() -> None:
    packages = lock_file()["packages"]
    assert lock.completed({"packages": packages})["packages"] == packages
    assert packages["node_modules/@rolldown/binding-darwin-arm64"]["os"] == ["darwin"]


def test_the_platform_follows_from_the_name_of_a_package() -> None:
    package = lock.platform_package("@biomejs/cli-linux-arm64-musl", "2.0.0")
    assert (package["os"], package["cpu"], package["libc"]) == (["linux"], ["arm64"], ["musl"])


def test_a_package_without_a_known_platform_is_never_installed() -> None:
    assert lock.platform_package("@a/b-toaster", "1.0.0")["cpu"] == ["none"]
