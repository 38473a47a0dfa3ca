"""The wheel, installed in a clean environment by pip and by uv, is enough for a user."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv
import zipfile

import pytest
from tools.console.build import STAMP

ROOT = pathlib.Path(__file__).parents[2]
TIMEOUT_SECONDS = 300


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Built from a copy: the build writes into its source."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    out = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(out), str(source)])
    (built,) = out.glob("*.whl")
    return built


def run(command: list[str], **variables: str) -> str:
    env = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH", "KUBECONFIG")}
    done = subprocess.run(
        command, env={**env, **variables}, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False, cwd="/"
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def versions(directory: pathlib.Path) -> str:
    """The versions of requirements/runtime.txt without hashes, which a local wheel does not have."""
    pins = re.findall(r"^([\w.-]+==[^\s;]+(?: ; [^\\\n]+)?)", (ROOT / "requirements" / "runtime.txt").read_text(), re.MULTILINE)
    path = directory / "constraints.txt"
    path.write_text("\n".join(pins) + "\n")
    return str(path)


def with_pip(wheel: pathlib.Path, directory: pathlib.Path) -> str:
    venv.create(directory / "venv", with_pip=True, symlinks=True)
    python = str(directory / "venv" / "bin" / "python")
    run([python, "-m", "pip", "install", "--quiet", "-c", versions(directory), str(wheel)])
    return str(directory / "venv" / "bin" / "traincrew")


def with_uv(wheel: pathlib.Path, directory: pathlib.Path) -> str:
    venv.create(directory / "venv", with_pip=True, symlinks=True)
    run([str(directory / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"])
    own = {"UV_TOOL_DIR": str(directory / "tools"), "UV_TOOL_BIN_DIR": str(directory / "bin")}
    uv = str(directory / "venv" / "bin" / "uv")
    run([uv, "tool", "install", "--quiet", "--python", sys.executable, "-c", versions(directory), str(wheel)], **own)
    return str(directory / "bin" / "traincrew")


def test_the_wheel_has_every_file_of_the_sources(wheel: pathlib.Path) -> None:
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in (source / "traincrew").rglob("*") if path.is_file()}
    # The stamp of a built page is for the next build of it.
    left_out = {each for each in files if "/__pycache__/" in each or each.endswith(f"/page/{STAMP}")}
    assert files - set(zipfile.ZipFile(wheel).namelist()) == left_out


@pytest.mark.parametrize("install", [with_pip, with_uv], ids=["pip install", "uv tool install"])
def test_a_job_runs_with_the_installed_wheel(install: object, wheel: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert callable(install)
    traincrew: str = install(wheel, tmp_path)
    own = {"HOME": str(tmp_path), "TRAINCREW_DATA": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert run([traincrew, "validate", str(ROOT / "examples" / "pytorch-minimal.yaml")], **own)
    assert "kind: CustomResourceDefinition" in run([traincrew, "manifests", "crds"], **own)
    command = ["python3", "-c", "print('trained')"]
    try:
        output = run([traincrew, "run", "--no-mount", "--kind", "PyTorchJob", "--", *command], **own)
        assert "trained" in output
    finally:
        run([traincrew, "down"], **own)
