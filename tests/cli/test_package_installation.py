"""The command that installs a package in an environment without pip: it is run."""

from __future__ import annotations

import pathlib
import shlex
import subprocess
import sys
import venv
import zipfile

import pytest

from traincrew.inspection import package_installation

FILES = {
    "tiny.py": "",
    "tiny-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n",
    "tiny-1.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tiny-1.dist-info/RECORD": "".join(f"{name},,\n" for name in ("tiny.py", "tiny-1.dist-info/METADATA")),
}


@pytest.fixture
def bare(tmp_path: pathlib.Path) -> pathlib.Path:
    venv.create(tmp_path / "an env", with_pip=False)
    return tmp_path / "an env"


def use_only(monkeypatch: pytest.MonkeyPatch, directory: pathlib.Path, program: str, script: str) -> None:
    """The PATH has no other program."""
    directory.mkdir()
    (directory / program).write_text(f"#!/bin/sh\n{script}\n")
    (directory / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(directory))


def test_the_command_installs_a_package(bare: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for name, text in FILES.items():
            file.writestr(name, text)
    use_only(monkeypatch, tmp_path / "bin", "python3", f'exec {shlex.quote(sys.executable)} "$@"')
    command = shlex.split(package_installation.command(str(bare)))
    assert command == ["python3", "-m", "pip", "--python", f"{bare}/bin/python", "install", "PACKAGE"]
    subprocess.run([*command[:-1], "--no-index", str(wheel)], check=True, capture_output=True)
    subprocess.run([bare / "bin" / "python", "-c", "import tiny"], check=True)


def test_uv_is_preferred(bare: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_only(monkeypatch, tmp_path / "bin", "uv", "exit 1")
    assert package_installation.command(str(bare)) == f"uv pip install --python '{bare}/bin/python' PACKAGE"


def test_an_environment_with_pip_uses_its_own(bare: pathlib.Path, tmp_path: pathlib.Path) -> None:
    venv.create(tmp_path / "system", with_pip=False, system_site_packages=True)
    packages = next(bare.glob("lib/python3*/site-packages"))
    (packages / "pip").mkdir()
    for directory in (str(bare), str(tmp_path / "system"), str(tmp_path / "none"), ""):
        assert package_installation.command(directory) == ""
