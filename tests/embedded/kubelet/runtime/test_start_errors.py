"""Containers that cannot start: no process is left, and the error has the message of the kubelet."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import pytest
from tests.embedded.kubelet import leak_detection
from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, run_to_exit, wait_for_exit

from traincrew.embedded.kubelet.runtime import runtime, spec


async def start_error(harness: ShimHarness, *argv: str, **values: Any) -> runtime.StartContainerError:
    shim = await harness.pod()
    with pytest.raises(runtime.StartContainerError) as failure:
        await shim.start(harness.container(*argv, **values))
    assert (await shim.container_statuses()) == {}
    assert runtime.read_exit(shim.directory, "main", 0) is None
    return failure.value


async def test_a_command_that_is_not_in_the_path(harness: ShimHarness) -> None:
    failure = await start_error(harness, "absent", env={"PATH": "/usr/bin:/bin"})
    assert failure.reason == "StartError"
    assert 'exec: "absent": executable file not found in $PATH (looked in /usr/bin, /bin)' in failure.message


async def test_a_command_with_a_missing_path(harness: ShimHarness) -> None:
    failure = await start_error(harness, "/absent/command")
    assert 'exec: "/absent/command": stat /absent/command: no such file or directory' in failure.message


async def test_a_file_that_is_not_executable(harness: ShimHarness) -> None:
    assert 'exec: "/etc/passwd": permission denied' in (await start_error(harness, "/etc/passwd")).message


async def test_a_directory_is_not_executable(harness: ShimHarness) -> None:
    assert 'exec: "/etc": is a directory' in (await start_error(harness, "/etc")).message


async def test_a_program_of_another_architecture(harness: ShimHarness) -> None:
    program = _program(harness, b"\x7fELF nonsense")
    mounts = () if harness.isolation == "none" else (spec.Mount(str(program), str(program)),)
    failure = await start_error(harness, str(program), mounts=mounts)
    assert failure.message.endswith(f"exec {program}: exec format error")


def _program(harness: ShimHarness, content: bytes) -> pathlib.Path:
    path = harness.data.parent / "program"
    path.write_bytes(content)
    path.chmod(0o755)
    return path


async def test_a_working_directory_that_is_a_file(harness: ShimHarness) -> None:
    failure = await start_error(harness, "true", cwd="/etc/passwd")
    assert 'cwd ("/etc/passwd")' in failure.message


async def test_a_missing_working_directory_is_created_in_the_writable_layer(isolated: ShimHarness) -> None:
    shim = await isolated.pod()
    _, output = await run_to_exit(isolated, shim, "pwd", cwd="/made/for/me")
    assert output == b"/made/for/me\n"
    assert not os.path.lexists("/made")  # noqa: ASYNC240


async def test_a_failed_attempt_can_be_started_again(harness: ShimHarness) -> None:
    shim = await harness.pod()
    with pytest.raises(runtime.StartContainerError):
        await shim.start(harness.container("absent"))
    await shim.start(harness.container("true"))
    assert (await wait_for_exit(shim)).code == 0


async def test_an_impossible_mount(harness: ShimHarness) -> None:
    failure = await start_error(harness, "true", mounts=(spec.Mount("/somewhere", str(harness.data / "absent")),))
    assert failure.reason == ("StartError" if harness.isolation is spec.Isolation.NONE else "CreateContainerError")
    assert "/somewhere" in failure.message


async def test_without_namespaces_an_optional_mount_is_left_out(tmp_path: pathlib.Path) -> None:
    harness = await ShimHarness(tmp_path / "data", spec.Isolation.NONE).open()
    shim = await harness.pod()
    mounts = (spec.Mount("/absent", str(tmp_path), optional=True), spec.Mount(str(tmp_path), str(tmp_path)))
    record, _ = await run_to_exit(harness, shim, "test ! -e /absent", mounts=mounts)
    assert record.code == 0
    await harness.close()


async def test_a_pod_without_a_directory_has_no_shim(harness: ShimHarness) -> None:
    pod = harness.pod_spec()
    os.rmdir(pod.directory)
    with pytest.raises(runtime.CreateSandboxError):
        await harness.template.fork(pod)


async def test_a_pod_has_one_shim_only(harness: ShimHarness) -> None:
    pod = harness.pod_spec()
    first = harness.keep(await harness.template.fork(pod))
    second = await harness.template.fork(pod)
    assert first.pid == second.pid
    second.close()


async def test_a_killed_shim_leaves_no_process_behind(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.shell("trap '' TERM; setsid sleep 1000 & (sleep 1001 &) ; sleep 1002"))
    await shim.start(harness.container("sleep", "1003", name="other"))
    os.kill(shim.pid, 9)
    assert [each async for each in shim.exits()] == []
    with pytest.raises(runtime.ShimGone):
        await runtime.ShimClient.connect(shim.directory)
    await harness.template.remove_pod(shim.directory)
    leak_detection.assert_no_leaks(harness.data)
