"""Builds the files of a release into dist/: sdist, wheel, chart, manifests, SBOM and checksums.

    python -m tools.release [--output DIRECTORY] [--image IMAGE]

The files depend on the commit and on the versions of Python, setuptools and Node.js alone: times are that of the commit. The
wheel contains the page of the console, which is built first.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.console import build as console_page
from tools.console import node
from tools.image.build import bill_of_materials
from tools.release import archives, install_manifests, sbom, source_copy
from tools.release.source_copy import ROOT

from traincrew import __version__


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.release")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--image", default="")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    files = build(options.output, options.image or f"traincrew:{__version__}")
    for path in files:
        print(f"{path.stat().st_size:>10}  {path}")
    return 0


def build(output: Path, image: str) -> list[Path]:
    epoch = _commit_time()
    with tempfile.TemporaryDirectory(prefix="traincrew-release-") as work:
        source = Path(work) / "source"
        source_copy.copy(source)
        _build_page(source)
        files = [*_python_packages(source, output, epoch), _chart(source, output, epoch)]
    for name, text in install_manifests.files(image).items():
        files.append(_write(output / name, text))
    files.append(_write(output / "sbom.spdx.json", sbom.document(epoch)))
    return [*files, _write(output / "SHA256SUMS", checksums(files, output / f"traincrew-{__version__}.oci.tar"))]


def checksums(files: list[Path], image: Path) -> str:
    """image: the file of `make image`. It and its bill of materials are part of the release if they are there."""
    of_image = [each for each in (image, bill_of_materials(image)) if each.exists()]
    listed = sorted([*files, *of_image])
    return "".join(f"{_digest(path)}  {path.name}\n" for path in listed)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _commit_time() -> int:
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _build_page(source: Path) -> None:
    """The page of the console, which git does not know. Built here and not copied: nothing depends on an earlier build."""
    page = source / console_page.PAGE.relative_to(ROOT)
    node.install(with_checks=False)
    node.run("vite", "build", "--logLevel", "warn", "--outDir", str(page), "--emptyOutDir")
    console_page.compress(page)
    for path in page.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _python_packages(source: Path, output: Path, epoch: int) -> list[Path]:
    built = [source_copy.build(source, output, epoch, "build_sdist"), source_copy.build(source, output, epoch, "build_wheel")]
    archives.normalize(built[0], epoch)
    return built


def _chart(source: Path, output: Path, epoch: int) -> Path:
    target = output / f"traincrew-{__version__}.tgz"
    chart = source / "charts" / "traincrew"
    files = {f"traincrew/{path.relative_to(chart)}": path.read_bytes() for path in sorted(chart.rglob("*")) if path.is_file()}
    archives.write(target, {name: archives.ArchiveEntry(content) for name, content in files.items()}, epoch)
    return target


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
