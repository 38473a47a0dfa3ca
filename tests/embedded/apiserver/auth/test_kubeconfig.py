from __future__ import annotations

import base64
import os
import pathlib

import pytest
import yaml

from traincrew import errors
from traincrew.client import kubeconfig as reading
from traincrew.embedded import admin_kubeconfig, private_files
from traincrew.embedded.pki import certificates

SERVER = "https://127.0.0.1:6443"


def test_clients_can_read_the_kubeconfig(tmp_path: pathlib.Path) -> None:
    pki = certificates.ensure(tmp_path / "pki", certificates.names("127.0.0.1"))
    path = tmp_path / "kubeconfig"
    assert admin_kubeconfig.write(path, SERVER, pki.authority, "secret: token # '\"")
    content = yaml.safe_load(path.read_text())
    assert content["current-context"] == "traincrew"
    assert content["users"][0]["user"]["token"] == "secret: token # '\""  # noqa: S105
    assert base64.b64decode(content["clusters"][0]["cluster"]["certificate-authority-data"]) == pki.authority
    assert reading.load(str(path)).server == SERVER


def test_the_file_is_private_for_any_umask(tmp_path: pathlib.Path) -> None:
    before = os.umask(0)
    try:
        admin_kubeconfig.write(tmp_path / "kubeconfig", SERVER, b"CA", "t")
    finally:
        os.umask(before)
    assert (tmp_path / "kubeconfig").stat().st_mode & 0o777 == 0o600


def test_the_kubeconfig_is_written_only_when_it_changes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "kubeconfig"
    assert admin_kubeconfig.write(path, SERVER, b"CA", "t")
    assert not admin_kubeconfig.write(path, SERVER, b"CA", "t")
    assert admin_kubeconfig.write(path, SERVER, b"CA", "other")
    path.chmod(0o644)
    assert admin_kubeconfig.write(path, SERVER, b"CA", "other")
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["kubeconfig"]


def test_a_foreign_file_is_not_changed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "config"
    path.write_text("apiVersion: v1\nkind: Config\n")
    with pytest.raises(errors.KubeconfigError, match="did not write"):
        admin_kubeconfig.write(path, SERVER, b"CA", "t")
    assert path.read_text() == "apiVersion: v1\nkind: Config\n"


def test_a_failed_write_keeps_the_previous_state(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    private_files.write(path, b"first")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        private_files.write(path, b"second")
    assert path.read_bytes() == b"first"
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]
