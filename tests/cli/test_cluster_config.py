"""cluster.yaml of the user and of the cluster, and the flags that override them."""

from __future__ import annotations

import pathlib
from typing import Any

import click
import pytest

from traincrew import errors
from traincrew.cli import cluster_config, node_options


@pytest.fixture
def files(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> tuple[pathlib.Path, pathlib.Path]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    found = cluster_config.paths(tmp_path / "data")
    for each in found:
        each.parent.mkdir(parents=True)
    return found


def chosen(data: pathlib.Path, *arguments: str) -> Any:
    found: list[Any] = []

    @click.command()
    @node_options.options
    @click.option("--overcommit", multiple=True, default=("cpu",))
    def command(**flags: Any) -> None:
        flags = cluster_config.applied(click.get_current_context(), flags, data)
        found.extend((node_options.node(flags), flags["overcommit"]))

    command.main(list(arguments), standalone_mode=False)
    return found


def test_flags_override_the_cluster_file_and_it_overrides_the_user_file(files: tuple[pathlib.Path, pathlib.Path]) -> None:
    user, own = files
    user.write_text("isolation: user\nlog-days: 3\nlog-bytes: 2Gi\npod-pids: 7\n")
    own.write_text("log-days: 2\novercommit: [cpu, memory]\nstrict-images: true\n")
    node, overcommit = chosen(own.parent, "--pod-pids", "9")
    assert (node.isolation, node.logs.days, node.logs.total_bytes, node.pod_pids) == ("user", 2.0, 2 << 30, 9)
    assert (tuple(overcommit), node.strict_images) == (("cpu", "memory"), True)


def test_devices_are_merged_one_by_one(files: tuple[pathlib.Path, pathlib.Path]) -> None:
    user, own = files
    user.write_text("devices:\n  nvidia.com/vgpu: 8\n  nvidia.com/gpumem: 1000\n")
    own.write_text("devices: {nvidia.com/gpumem: 2000, nvidia.com/gpu: 4}\n")
    node, _ = chosen(own.parent, "--device", "nvidia.com/gpu=2")
    assert node.devices == {"nvidia.com/vgpu": 8, "nvidia.com/gpumem": 2000, "nvidia.com/gpu": 2}


def test_unsafe_sysctls_are_lists_and_must_be_namespaced(files: tuple[pathlib.Path, pathlib.Path]) -> None:
    files[1].write_text('allowed-unsafe-sysctls: [net.core.somaxconn, "kernel.shm*"]\n')
    assert chosen(files[1].parent)[0].allowed_unsafe_sysctls == ("net.core.somaxconn", "kernel.shm*")
    node, _ = chosen(files[1].parent, "--allowed-unsafe-sysctls", "kernel.sem,kernel.msg*")
    assert node.allowed_unsafe_sysctls == ("kernel.sem", "kernel.msg*")
    with pytest.raises(errors.SettingsError, match=r'the sysctls "vm\.swappiness" are not known to be namespaced'):
        chosen(files[1].parent, "--allowed-unsafe-sysctls", "vm.swappiness")


def test_without_files_the_flags_keep_their_defaults(files: tuple[pathlib.Path, pathlib.Path]) -> None:
    node, overcommit = chosen(files[1].parent)
    assert (node.devices, node.isolation, node.logs.days, tuple(overcommit)) == ({}, "", 7.0, ("cpu",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("devices: {gpu: 4}", "devices: expected a mapping of names such as nvidia.com/vgpu"),
        ("devices: {nvidia.com/gpu: many}", "to whole numbers"),
        ("isolation: total", "isolation: expected one of auto, root, user, none, got 'total'"),
        ("overcommit: [cpu, mem]", "overcommit: expected a list of values from cpu, memory, none, got .'cpu', 'mem'."),
        ("log-bytes: lots", "expected a size such as 500Mi"),
        ("allowed-unsafe-sysctls: [kernel.core_pattern]", "expected a list of namespaced sysctls such as net.core.somaxconn"),
        ("allowed-unsafe-sysctls: kernel.sem", "expected a list of namespaced sysctls"),
        ("color: red", "unknown setting 'color'. Known settings: isolation, devices"),
        ("- devices", "expected a mapping of settings"),
        ("a: [", "as YAML"),
    ],
)
def test_an_invalid_setting_is_reported_with_its_file(files: tuple[pathlib.Path, pathlib.Path], text: str, message: str) -> None:
    files[1].write_text(text)
    with pytest.raises(errors.SettingsError, match=f"{files[1]}.*{message}"):
        chosen(files[1].parent)
