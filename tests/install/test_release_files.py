"""The files of a release: the same for the same commit, and complete. tests/tools/test_wheel.py installs the wheel."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import zipfile

import pytest
from tests.install import helm as helm_module
from tests.install.helm import ROOT, Helm
from tools.image.build import bill_of_materials
from tools.install_files import VERSIONS
from tools.release.__main__ import checksums

from traincrew import __version__

NAMES = {
    f"traincrew-{__version__}.tar.gz", f"traincrew-{__version__}-py3-none-any.whl", f"traincrew-{__version__}.tgz",
    "install.yaml", "crds.yaml", "operator.yaml", "sbom.spdx.json", "SHA256SUMS",
}  # fmt: skip


PAGE = "traincrew/console/page/"


def release(output: pathlib.Path, umask: int = 0o022, **environment: str) -> pathlib.Path:
    command = [sys.executable, "-m", "tools.release", "--output", str(output)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, umask=umask, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return release(tmp_path_factory.mktemp("dist"))


def test_two_builds_are_the_same_byte_by_byte(dist: pathlib.Path, tmp_path: pathlib.Path) -> None:
    other = release(tmp_path / "again", umask=0o077, TZ="Asia/Shanghai", PYTHONHASHSEED="7", LANG="C")
    assert {path.name for path in dist.iterdir()} == NAMES
    different = [path.name for path in dist.iterdir() if path.read_bytes() != (other / path.name).read_bytes()]
    assert not different


def test_the_checksums_are_those_of_the_files(dist: pathlib.Path) -> None:
    lines = [line.split("  ") for line in (dist / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in lines} == NAMES - {"SHA256SUMS"}
    assert all(hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest for digest, name in lines)


def test_the_wheel_of_the_sdist_has_the_same_files_as_the_wheel(dist: pathlib.Path, tmp_path: pathlib.Path) -> None:
    archive = dist / f"traincrew-{__version__}.tar.gz"
    subprocess.run(["tar", "--extract", "--no-same-owner", "--directory", tmp_path, "--file", archive], check=True)
    program = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    source = tmp_path / f"traincrew-{__version__}"
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert _names(wheel) == _names(dist / wheel.name)


def test_the_wheel_has_the_page_of_the_console(dist: pathlib.Path) -> None:
    wheel = zipfile.ZipFile(dist / f"traincrew-{__version__}-py3-none-any.whl")
    page = {name for name in wheel.namelist() if name.startswith(PAGE)}
    assert b"<script" in wheel.read(f"{PAGE}index.html")
    assert {f"{name}.gz" for name in page if name.endswith((".js", ".css"))} <= page
    assert any(name.endswith(".js") for name in page)


def test_the_checksums_have_a_line_for_the_image_if_it_was_built(tmp_path: pathlib.Path) -> None:
    chart, image = tmp_path / "chart.tgz", tmp_path / "image.oci.tar"
    chart.write_bytes(b"chart")
    assert [line.split("  ")[1] for line in checksums([chart], image).splitlines()] == ["chart.tgz"]
    image.write_bytes(b"image")
    bill_of_materials(image).write_bytes(b"bill")
    lines = checksums([chart], image)
    assert f"{hashlib.sha256(b'image').hexdigest()}  image.oci.tar\n" in lines
    assert f"{hashlib.sha256(b'bill').hexdigest()}  image.image.spdx.json\n" in lines


def _names(wheel: pathlib.Path) -> list[str]:
    return sorted(zipfile.ZipFile(wheel).namelist())


def test_install_yaml_has_the_objects_of_kustomize(dist: pathlib.Path) -> None:
    for name, directory in (("install.yaml", "overlays/standalone"), ("crds.yaml", "crds"), ("operator.yaml", "base")):
        built = helm_module.by_name(helm_module.kustomize(ROOT / "manifests" / directory))
        assert helm_module.by_name((dist / name).read_text()) == built


def test_helm_reads_the_packaged_chart(dist: pathlib.Path, helm: Helm) -> None:
    chart = dist / f"traincrew-{__version__}.tgz"
    assert f"version: {__version__}" in helm.succeed("show", "chart", chart)
    rendered = helm.succeed("template", "traincrew", chart, helm_module.IMAGE)
    assert helm_module.by_name(rendered) == helm.render()


def test_the_bill_of_materials_lists_every_pinned_package(dist: pathlib.Path) -> None:
    bill = json.loads((dist / "sbom.spdx.json").read_text())
    listed = {(each["name"], each["versionInfo"]) for each in bill["packages"]}
    lock = (ROOT / "requirements" / "runtime.txt").read_text().splitlines()
    pinned = {tuple(line.split(" ")[0].split("==")) for line in lock if line and not line.startswith((" ", "#"))}
    page = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    of_page = {
        (place.rpartition("node_modules/")[2], each["version"])
        for place, each in page.items()
        if place and not each.get("dev") and not each.get("optional")
    }
    assert listed == {*pinned, *of_page, ("traincrew", __version__)}
    relations = {(each["relationshipType"], each["spdxElementId"], each["relatedSpdxElement"]) for each in bill["relationships"]}
    own = f"SPDXRef-traincrew-{__version__}"
    react, vite = (f"SPDXRef-npm-{name}-{page[f'node_modules/{name}']['version']}" for name in ("react", "vite"))
    assert ("CONTAINS", own, react) in relations
    assert ("BUILD_DEPENDENCY_OF", vite, own) in relations
    assert len({each["SPDXID"] for each in bill["packages"]}) == len(bill["packages"])
    assert sum(each.get("checksums") is not None for each in bill["packages"]) == len(of_page)


def test_the_version_is_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "traincrew.__version__"}
    assert all(__version__ in path.read_text() for path in VERSIONS)
    assert f"## {__version__} " in (ROOT / "CHANGELOG.md").read_text()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = re.compile(r"traincrew[:-]\d+\.\d+\.\d+")
    texts = {
        ROOT / name for name in listed.split("\0") if name.endswith((".md", ".py", ".yaml", ".txt", "Dockerfile", "Makefile"))
    }
    elsewhere = [str(path) for path in sorted(texts - set(VERSIONS)) if path.is_file() and named.search(path.read_text())]
    assert not elsewhere, "`make generate` writes the version only to the files of VERSIONS"
