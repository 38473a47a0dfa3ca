"""`make image`: the archive, and the packages that the image gets. `make test-kubelet` runs the image."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import pathlib
import subprocess
import tarfile
import zipfile
from typing import Any

import pytest
from tools.image import build, go_modules, oci, sbom

from traincrew import __version__


def _layer(folder: pathlib.Path) -> pathlib.Path:
    path = folder / "layer.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("etc/passwd")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"root"))
    return path


def _written(folder: pathlib.Path, name: str = "traincrew:1") -> dict[str, bytes]:
    folder.mkdir(exist_ok=True)
    config = oci.ImageConfig(name, entrypoint=("/bin/a",), user="1:1", created="2026-01-01T00:00:00Z")
    oci.write(_layer(folder), config, folder / "image.tar")
    with tarfile.open(folder / "image.tar") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def _blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    data = files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
    assert hashlib.sha256(data).hexdigest() == descriptor["digest"].removeprefix("sha256:")
    assert len(data) == descriptor["size"]
    return data


def test_every_descriptor_leads_to_its_content(tmp_path: pathlib.Path) -> None:
    files = _written(tmp_path)
    (entry,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(_blob(files, entry))
    config = json.loads(_blob(files, manifest["config"]))
    (layer,) = manifest["layers"]
    plain = gzip.decompress(_blob(files, layer))
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(plain).hexdigest()}"]
    assert (config["config"]["User"], config["config"]["Entrypoint"]) == ("1:1", ["/bin/a"])
    assert entry["annotations"]["io.containerd.image.name"] == "docker.io/library/traincrew:1"


def test_the_same_layer_gives_the_same_archive(tmp_path: pathlib.Path) -> None:
    for name in ("one", "two"):
        _written(tmp_path / name)
    assert (tmp_path / "one" / "image.tar").read_bytes() == (tmp_path / "two" / "image.tar").read_bytes()


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("traincrew:1", "docker.io/library/traincrew:1"),
        ("ml/traincrew:1", "docker.io/ml/traincrew:1"),
        ("registry.example/traincrew:1", "registry.example/traincrew:1"),
        ("localhost:5000/traincrew:1", "localhost:5000/traincrew:1"),
    ],
)
def test_names_are_those_that_a_kubelet_looks_for(name: str, full: str) -> None:
    assert oci.full_name(name) == full


def test_pins_are_chosen_for_the_python_of_the_image() -> None:
    text = """# comment
a==1 \\
    --hash=sha256:aa \\
    --hash=sha256:ab
b==2 ; python_full_version < '3.13' \\
    --hash=sha256:bb
c==3 ; sys_platform == 'win32' \\
    --hash=sha256:cc
"""
    assert build._requirements(text) == "a==1 --hash=sha256:aa --hash=sha256:ab\nb==2 --hash=sha256:bb\n"


PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "traincrew"
version = "1"
[tool.setuptools.packages.find]
where = ["src"]
[tool.setuptools.package-data]
"*" = ["**/*"]
"""
PACKAGE = "src/traincrew"


@pytest.fixture
def project(tmp_path: pathlib.Path) -> pathlib.Path:
    """With a module, the built page of the console, and what an earlier build and an editor have left."""
    top = tmp_path / "project"
    for name in (f"{PACKAGE}/__init__.py", f"{PACKAGE}/console/page/index.html", f"{PACKAGE}/console/page/.source"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    (top / "pyproject.toml").write_text(PROJECT)
    (top / "build/lib/traincrew").mkdir(parents=True)
    (top / "build/lib/traincrew/removed.py").touch()
    return top


@pytest.mark.parametrize("with_git", [True, False])
def test_the_wheel_of_the_image_has_no_module_that_is_gone(project: pathlib.Path, tmp_path: pathlib.Path, with_git: bool) -> None:
    if with_git:
        (project / PACKAGE / "scratch.py").touch()
        for command in (["init", "--quiet"], ["add", "pyproject.toml", f"{PACKAGE}/__init__.py"]):
            subprocess.run(["git", "-C", str(project), *command], check=True)
    before = sorted(project.rglob("*"))
    with zipfile.ZipFile(build.wheel(tmp_path / "work", 1_700_000_000, project)) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == {"traincrew/__init__.py", "traincrew/console/page/index.html"}
    assert sorted(project.rglob("*")) == before, "nothing is written into the tree"


def _installed(library: pathlib.Path, name: str, version: str) -> None:
    folder = library / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def _go_program(folder: pathlib.Path, modules: str) -> pathlib.Path:
    """A file with the build information of Go, as the linker writes it."""
    text = b"\0" * 16 + modules.encode() + b"\0" * 16
    size = bytes([len(text) & 0x7F | 0x80, len(text) >> 7])
    path = folder / "program"
    path.write_bytes(b"ELF...\xff Go buildinf:\x08\x02" + b"\0" * 16 + b"\x06go1.26" + size + text + b"rest")
    return path


def test_the_bill_of_materials_lists_debian_python_and_go(tmp_path: pathlib.Path) -> None:
    _installed(tmp_path, "aiohttp", "3.9")
    modules = "mod\tk8s.io/kubernetes\tv1.32.2\th1:a=\ndep\tk8s.io/api\tv0.0.0\n=>\tk8s.io/api\tv0.32.2\th1:b=\n"
    content = sbom.ImageContent(
        [sbom.DebianPackage("libc6", "2.36-9+deb12u1", "amd64")], tmp_path, _go_program(tmp_path, modules)
    )
    bill = json.loads(sbom.document(content, 0))
    locators = {each["externalRefs"][0]["referenceLocator"] for each in bill["packages"]}
    assert locators == {
        f"pkg:oci/traincrew@{__version__}", "pkg:deb/debian/libc6@2.36-9%2Bdeb12u1?arch=amd64&distro=bookworm",
        "pkg:pypi/aiohttp@3.9", "pkg:golang/k8s.io/kubernetes@v1.32.2", "pkg:golang/k8s.io/api@v0.32.2",
        "pkg:golang/stdlib@1.26",
    }  # fmt: skip
    identifiers = {each["SPDXID"] for each in bill["packages"]}
    assert len(identifiers) == len(bill["packages"])
    assert {each["relatedSpdxElement"] for each in bill["relationships"]} == identifiers


def test_a_file_that_go_has_not_built_is_no_program(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program").write_bytes(b"ELF")
    with pytest.raises(ValueError, match="no build information"):
        go_modules.read(tmp_path / "program")
