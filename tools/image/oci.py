"""Writes an OCI image of one layer as an archive that `ctr images import`, `podman load` and `skopeo copy` read.

The archive depends on its input alone: no names of users, no times but that of the source.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import json
import platform
import shutil
import tarfile
from pathlib import Path
from typing import Any

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_JSON = "application/vnd.oci.image."


@dataclasses.dataclass(frozen=True)
class ImageConfig:
    name: str
    """Name with tag, such as `traincrew:1.0`."""
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""
    env: tuple[str, ...] = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",)
    labels: tuple[tuple[str, str], ...] = ()
    created: str = "1970-01-01T00:00:00Z"


def write(layer: Path, config: ImageConfig, archive: Path) -> int:
    """Writes the archive. Returns the number of bytes that a node pulls: the compressed layer."""
    compressed = layer.with_suffix(".tar.gz")
    with layer.open("rb") as plain, compressed.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)
    documents: list[bytes] = []

    def add(document: dict[str, Any], kind: str) -> dict[str, Any]:
        documents.append(json.dumps(document, sort_keys=True, separators=(",", ":")).encode())
        digest = hashlib.sha256(documents[-1]).hexdigest()
        return {"mediaType": f"{_JSON}{kind}", "digest": f"sha256:{digest}", "size": len(documents[-1])}

    size = compressed.stat().st_size
    layers = [{"mediaType": f"{_JSON}layer.v1.tar+gzip", "digest": f"sha256:{_digest(compressed)}", "size": size}]
    described = add(_config(config, _digest(layer)), "config.v1+json")
    manifest = {"schemaVersion": 2, "mediaType": f"{_JSON}manifest.v1+json", "config": described, "layers": layers}
    entry = add(manifest, "manifest.v1+json")
    full, _, tag = full_name(config.name).rpartition(":")
    entry["annotations"] = {"io.containerd.image.name": f"{full}:{tag}", "org.opencontainers.image.ref.name": tag}
    index = {"schemaVersion": 2, "mediaType": f"{_JSON}index.v1+json", "manifests": [entry]}
    archive.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_suffix(".unfinished")
    with tarfile.open(unfinished, "w", format=tarfile.USTAR_FORMAT) as target:
        _add(target, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        _add(target, "index.json", json.dumps(index, sort_keys=True).encode())
        for document in documents:
            _add(target, f"blobs/sha256/{hashlib.sha256(document).hexdigest()}", document)
        with compressed.open("rb") as blob:
            info = tarfile.TarInfo(f"blobs/sha256/{_digest(compressed)}")
            info.size = size
            target.addfile(info, blob)
    unfinished.rename(archive)
    compressed.unlink()
    return size


def full_name(name: str) -> str:
    """The name under which a container runtime looks for an image of this name."""
    first, slash, _ = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return name
    return f"docker.io/{name}" if slash else f"docker.io/library/{name}"


def _config(config: ImageConfig, layer: str) -> dict[str, Any]:
    return {
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "created": config.created,
        "config": {
            "Entrypoint": list(config.entrypoint),
            "Cmd": list(config.command),
            "User": config.user,
            "Env": list(config.env),
            "Labels": dict(config.labels),
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
    }


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))
