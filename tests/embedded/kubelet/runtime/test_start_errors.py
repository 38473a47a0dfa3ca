"""Containers that cannot be started: nothing runs then, and the reason is told in a kubelet's words."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import pytest
from tests.embedded.kubelet import leak_detection
from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, run_to_exit, wait_for_exit

from traincrew.embedded.kubelet.runtime import runtime, spec


async def refused(harness: ShimHarness, *argv: str, **values: Any) -> runtime.StartContainerError:
    shim = await harness.pod()
    with pytest.raises(runtime.StartContainerError) as failure:
        await shim.start(harness.container(*argv, **values))
    assert (await shim.container_statuses()) == {}
    assert runtime.read_exit(shim.directory, "main", 0) is None
    return failure.value


async def test_a_command_that_is_nowhere_in_the_path(harness: ShimHarness) -> None:
    failure = await refused(harness, "absent", env={"PATH": "/usr/bin:/bin"})
    assert failure.reason == "StartError"
    assert 'exec: "absent": executable file not found in $PATH (looked in /usr/bin, /bin)' in failure.message


async def test_a_command_that_is_not_at_its_place(harness: ShimHarness) -> None:
    failure = await refused(harness, "/absent/command")
    assert 'exec: "/absent/command": stat /absent/command: no such file or directory' in failure.message


async def test_a_file_that_is_no_program(harness: ShimHarness) -> None:
    assert 'exec: "/etc/passwd": permission denied' in (await refused(harness, "/etc/passwd")).message


async def test_a_directory_is_no_program(harness: ShimHarness) -> None:
    assert 'exec: "/etc": is a directory' in (await refused(harness, "/etc")).message


async def test_a_program_of_another_machine(harness: ShimHarness) -> None:
    program = _program(harness, b"\x7fELF nonsense")
    mounts = () if harness.isolation == "none" else (spec.Mount(str(program), str(program)),)
    failure = await refused(harness, str(program), mounts=mounts)
    assert failure.message.endswith(f"exec {program}: exec format error")


def _program(harness: ShimHarness, content: bytes) -> pathlib.Path:
    path = harness.data.parent / "program"
    path.write_bytes(content)
    path.chmod(0o755)
    return path


async def test_a_working_directory_that_is_a_file(harness: ShimHarness) -> None:
    failure = await refused(harness, "true", cwd="/etc/passwd")
    assert 'cwd ("/etc/passwd")' in failure.message


async def test_a_missing_working_directory_is_made_where_it_harms_nobody(isolated: ShimHarness) -> None:
    shim = await isolated.pod()
    _, output = await run_to_exit(isolated, shim, "pwd", cwd="/made/for/me")
    assert output == b"/made/for/me\n"
    assert not os.path.lexists("/made")  # noqa: ASYNC240


async def test_after_a_refusal_the_same_attempt_may_be_tried_again(harness: ShimHarness) -> None:
    shim = await harness.pod()
    with pytest.raises(runtime.StartContainerError):
        await shim.start(harness.container("absent"))
    await shim.start(harness.container("true"))
    assert (await wait_for_exit(shim)).code == 0


async def test_a_mount_that_cannot_be_had(harness: ShimHarness) -> None:
    failure = await refused(harness, "true", mounts=(spec.Mount("/somewhere", str(harness.data / "absent")),))
    assert failure.reason == ("StartError" if harness.isolation is spec.Isolation.NONE else "CreateContainerError")
    assert "/somewhere" in failure.message


async def test_without_namespaces_an_optional_mount_is_left_out(tmp_path: pathlib.Path) -> None:
    harness = await ShimHarness(tmp_path / "data", spec.Isolation.NONE).open()
    shim = await harness.pod()
    mounts = (spec.Mount("/absent", str(tmp_path), optional=True), spec.Mount(str(tmp_path), str(tmp_path)))
    record, _ = await run_to_exit(harness, shim, "test ! -e /absent", mounts=mounts)
    assert record.code == 0
    await harness.close()


async def test_a_pod_whose_directory_is_not_there_has_no_shim(harness: ShimHarness) -> None:
    pod = harness.pod_spec()
    os.rmdir(pod.directory)
    with pytest.raises(runtime.CreateSandboxError):
        await harness.template.fork(pod)


async def test_two_shims_of_one_pod_are_one(harness: ShimHarness) -> None:
    pod = harness.pod_spec()
    first = harness.keep(await harness.template.fork(pod))
    second = await harness.template.fork(pod)
    assert first.pid == second.pid
    second.close()


async def test_a_killed_shim_leaves_nobody_behind(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.shell("trap '' TERM; setsid sleep 1000 & (sleep 1001 &) ; sleep 1002"))
    await shim.start(harness.container("sleep", "1003", name="other"))
    os.kill(shim.pid, 9)
    assert [each async for each in shim.exits()] == []
    with pytest.raises(runtime.ShimGone):
        await runtime.ShimClient.connect(shim.directory)
    await harness.template.remove(shim.directory)
    leak_detection.assert_no_leaks(harness.data)
