"""A process that exchanges files and symbolic links while a container is being built does not lead its mounts elsewhere."""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
from collections.abc import Iterator

import pytest
from tests.embedded.kubelet.runtime import older_kernel
from tests.embedded.kubelet.runtime.rootfs_harness import ProcessResult, RootfsHarness, rootfs_harness
from tests.embedded.kubelet.runtime.swapper import exchanging

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.rootfs import mounts
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory
from traincrew.embedded.kubelet.runtime.spec import Isolation, Mount

TIMES = 12
MOST_TIMES = 200
"""About a third of the attempts on an idle machine open the path at a moment when it leads to the volume, fewer under load."""


@pytest.fixture(params=[Isolation.ROOT, Isolation.USER])
def harness(request: pytest.FixtureRequest) -> Iterator[RootfsHarness]:
    with rootfs_harness(request.param) as opened:
        yield opened


def claim(harness: RootfsHarness) -> pathlib.Path:
    """A volume that several pods share."""
    path = harness.data / "volumes/claim"
    path.mkdir(parents=True)
    return path


def outside(harness: RootfsHarness) -> pathlib.Path:
    """Files of the host that no pod may reach."""
    path = harness.base / "outside"
    path.mkdir()
    (path / "secret").write_text("precious")
    path.chmod(0o777)
    return path


def repeated(harness: RootfsHarness, script: str, *mounts: Mount) -> list[ProcessResult]:
    """Builds and runs the same container several times, and until one of them has shown the volume's own file."""
    results: list[ProcessResult] = []
    while len(results) < TIMES or not any("ours" in result.out for result in results):
        assert len(results) < MOST_TIMES, "no attempt succeeded"
        results.append(harness.run(script, *mounts))
        assert results[-1].code in (0, 1, 200), results[-1].out
    return results


def test_a_sub_path_that_is_exchanged_with_a_link_does_not_lead_out_of_its_volume(harness: RootfsHarness) -> None:
    volume, target = claim(harness), outside(harness)
    (volume / "part").mkdir()
    (volume / "part" / "own").write_text("ours")
    (volume / "link").symlink_to(target)
    harness.give(harness.data)
    with exchanging(volume / "part", volume / "link"):
        results = repeated(
            harness, "cat /p/own /p/secret; touch /p/changed", Mount("/p", str(volume / "part"), volume=str(volume))
        )
    assert not [each.out for each in results if "precious" in each.out]
    assert os.listdir(target) == ["secret"]


def test_a_sub_path_below_an_exchanged_directory_does_not_lead_out_of_its_volume(harness: RootfsHarness) -> None:
    volume, target = claim(harness), outside(harness)
    (target / "file").write_text("precious")
    (volume / "part").mkdir()
    (volume / "part" / "file").write_text("ours")
    (volume / "link").symlink_to(os.path.relpath(target, volume))
    harness.give(harness.data)
    with exchanging(volume / "part", volume / "link"):
        results = repeated(harness, "cat /f", Mount("/f", str(volume / "part/file"), volume=str(volume)))
    assert not [each.out for each in results if "precious" in each.out]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_files_of_the_host_that_are_exchanged_with_links_do_not_show_the_data_directory(harness: RootfsHarness) -> None:
    """At level user each file beside a mount is bound alone, and each directory is an overlay."""
    shared = harness.base / "shared"
    for name in ("mounted", "directory"):
        (shared / name).mkdir(parents=True)
    (shared / "file").write_text("ours")
    (shared / "to-file").symlink_to(harness.data / "kubeconfig")
    (shared / "to-data").symlink_to(harness.data)
    harness.first = lambda: syscalls.mount("tmpfs", str(shared / "mounted"), "tmpfs")
    script = f"cat {shared}/*; cat {shared}/*/kubeconfig"
    with contextlib.ExitStack() as stack:
        stack.enter_context(exchanging(shared / "file", shared / "to-file"))
        stack.enter_context(exchanging(shared / "directory", shared / "to-data"))
        results = repeated(harness, script)
    assert not [each.out for each in results if "secret" in each.out]


@pytest.mark.skipif(os.geteuid() != 0, reason="creates a device file")
def test_a_device_that_is_exchanged_with_a_link_does_not_show_a_file(harness: RootfsHarness) -> None:
    shared, target = harness.base / "shared", outside(harness)
    shared.mkdir()
    os.mknod(shared / "device", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    (shared / "link").symlink_to(target / "secret")
    results: list[ProcessResult] = []
    with exchanging(shared / "device", shared / "link"):
        while len(results) < TIMES or {each.code for each in results} != {0, 200}:
            assert len(results) < MOST_TIMES, [each.out for each in results]
            script = f"test -c {shared}/device && head -c 3 {shared}/device | od -An -c"
            results.append(harness.run(script, devices=(str(shared / "device"),)))
    assert all(f"{shared}/device is not a device" in each.out for each in results if each.code == 200)
    assert {each.out.split()[0] for each in results if each.code == 0} == {"\\0"}


def test_a_link_of_the_image_that_is_exchanged_does_not_lead_a_mount_to_the_host(harness: RootfsHarness) -> None:
    """The mount path leads through a directory of the image's files, which are the host's, that another user can change."""
    shared, target = harness.base / "shared", outside(harness)
    (shared / "part").mkdir(parents=True)
    (shared / "link").symlink_to(target)
    volume = harness.volume()
    (volume / "own").write_text("ours")
    harness.give(harness.data)
    with exchanging(shared / "part", shared / "link"):
        repeated(harness, f"cat {shared}/*/at/own; touch {shared}/*/at/changed", Mount(f"{shared}/part/at", str(volume)))
    assert os.listdir(target) == ["secret"]
    assert [os.listdir(each) for each in shared.iterdir() if not each.is_symlink()] == [[]]


ON_KERNELS = pytest.mark.parametrize(
    "missing", [(), older_kernel.BEFORE_5_12, older_kernel.BEFORE_5_2], ids=["new", "5.11", "5.1"]
)


@pytest.mark.skipif(os.geteuid() != 0, reason="a seccomp filter needs root")
@ON_KERNELS
def test_a_mount_point_that_is_exchanged_after_it_was_opened_gets_the_mount_or_an_error(
    harness: RootfsHarness, missing: tuple[int, ...]
) -> None:
    top, source = harness.directory / "top", outside(harness)
    for name in ("one/at", "two/at"):
        (top / name).mkdir(parents=True)
    harness.give(harness.data)
    if missing:
        harness.first = lambda: older_kernel.deny(*missing)

    def body() -> None:
        root, opened = RootDirectory(str(top)), os.open(source, os.O_PATH)
        target = root.open("/one/at")
        os.rename(top / "one", top / "other")
        os.rename(top / "two", top / "one")
        try:
            with mounts.bound(root, opened, "/one/at", target, syscalls.MOUNT_ATTR_RDONLY):
                print("mounted")
        except OSError as error:
            print(error)
        print(os.listdir(top / "one/at"), os.listdir(top / "other/at"), os.access(top / "other/at", os.W_OK))

    first, listing = harness.perform(body).out.splitlines()
    if missing == older_kernel.BEFORE_5_2:
        assert "the mount path was replaced meanwhile" in first
    else:
        assert (first, listing) == ("mounted", "[] ['secret'] False")


@pytest.mark.skipif(os.geteuid() != 0, reason="a seccomp filter needs root")
@ON_KERNELS
def test_containers_are_built_on_older_kernels(harness: RootfsHarness, missing: tuple[int, ...]) -> None:
    if missing:
        harness.first = lambda: older_kernel.deny(*missing)
    volume = harness.volume()
    (volume / "part").mkdir()
    (volume / "part/file").write_text("ours")
    harness.give(harness.data)
    script = "cat /p/file; touch /p/x; echo 1 > /proc/sys/kernel/panic; ls -A " + str(harness.data)

    outcome = harness.run(script, Mount("/p", str(volume / "part"), read_only=True, volume=str(volume)))

    assert outcome.out.startswith("ours"), outcome.out
    assert outcome.out.count("Read-only file system") == 2
    assert "kubeconfig" not in outcome.out
