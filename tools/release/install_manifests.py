"""The manifests as plain files: all of them, the CRDs, and the operator with its namespace."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

MANIFESTS = Path(__file__).resolve().parents[2] / "manifests"
_ALL = "# `kubectl delete -f` with this file deletes all jobs and the namespace. To uninstall, use operator.yaml."
FILES = {
    "install.yaml": ("overlays/standalone", _ALL),
    "crds.yaml": ("crds", "# `kubectl delete -f` with this file deletes all jobs."),
    "operator.yaml": ("base", "# The operator alone: apply crds.yaml and create the namespace `kubeflow` first."),
}
"""File → a directory of kustomize without patches, and a word to those who delete it."""


def files(image: str) -> dict[str, str]:
    return {name: _joined(directory, notice, image) for name, (directory, notice) in FILES.items()}


def _joined(directory: str, notice: str, image: str) -> str:
    texts = [_documents(path) for path in _resources(MANIFESTS / directory)]
    joined = f"{notice}\n" + "".join(f"---\n{text}\n" for text in texts)
    return re.sub(r"image: traincrew:\S+", f"image: {image}", joined)


def _resources(directory: Path) -> list[Path]:
    """The files of a directory and of those that it refers to."""
    kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
    assert not kustomization.get("patches"), f"{directory} has patches, which only kustomize applies"
    found: list[Path] = []
    for name in kustomization["resources"]:
        path = directory / name
        found += _resources(path) if path.is_dir() else [path]
    return found


def _documents(path: Path) -> str:
    """The text without comments at its head and without a first separator."""
    return re.sub(r"\A(?:#[^\n]*\n|---\n)*", "", path.read_text()).rstrip("\n")
