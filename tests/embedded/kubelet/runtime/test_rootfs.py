"""The rootfs of a container at each isolation level: files of the host, the writable layer and volumes."""

from __future__ import annotations

import os
import pathlib
import uuid
from collections.abc import Iterator

import pytest
from tests.embedded.kubelet.runtime.rootfs_harness import RootfsHarness, rootfs_harness

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.rootfs import shared_memory
from traincrew.embedded.kubelet.runtime.spec import Isolation, Mount


@pytest.fixture(params=[Isolation.ROOT, Isolation.USER])
def harness(request: pytest.FixtureRequest) -> Iterator[RootfsHarness]:
    with rootfs_harness(request.param) as opened:
        yield opened


def test_programs_and_files_of_the_host_are_available(harness: RootfsHarness) -> None:
    outcome = harness.run("cat /etc/passwd; uname -n; id -u")

    assert outcome.code == 0
    assert pathlib.Path("/etc/passwd").read_text() in outcome.out


@pytest.mark.parametrize("path", ["/etc", "/usr/local/lib", "/var/lib", "/opt", ""])
def test_writes_go_to_the_writable_layer(harness: RootfsHarness, path: str) -> None:
    name = f"{path}/written-{uuid.uuid4().hex}"

    outcome = harness.run(f"echo content > {name} && cat {name}")

    assert outcome.words == ["content"]
    assert not os.path.exists(name)
    assert list(harness.layer().rglob(os.path.basename(name)))


def test_files_of_the_host_can_be_removed_and_recreated(harness: RootfsHarness) -> None:
    outcome = harness.run("rm /etc/passwd && ls /etc/passwd; echo mine > /etc/passwd && cat /etc/passwd")

    assert "No such file" in outcome.out
    assert outcome.words[-1] == "mine"


def test_a_directory_of_the_host_can_be_renamed_and_removed_by_root() -> None:
    with rootfs_harness(Isolation.ROOT) as harness:
        outcome = harness.run(
            "mv /etc /etc.moved && cat /etc.moved/hostname > /dev/null && rm -r /etc.moved && mkdir /etc && ls -A /etc | wc -l"
        )

    assert outcome.words == ["0"]
    assert os.path.exists("/etc/passwd")


def test_tmp_and_run_are_empty_and_private(harness: RootfsHarness) -> None:
    outcome = harness.run("ls -A /tmp /var/tmp; ls -A /run; stat -c %a /tmp /var/tmp /run; touch /tmp/x /run/y")

    assert outcome.code == 0
    assert outcome.words == ["/tmp:", "/var/tmp:", "lock", "1777", "1777", "755"]  # noqa: S108 -- of the container


@pytest.mark.parametrize("path", ["/train/deep/er", "/etc/mpi", "/usr/share/new/one", "/var/run/secrets/x", "/home/new/x"])
def test_a_volume_is_mounted_at_a_path_that_the_host_does_not_have(harness: RootfsHarness, path: str) -> None:
    (harness.volume() / "file").write_text("content")

    outcome = harness.run(f"cat {path}/file; echo more > {path}/other", Mount(path, str(harness.volume())))

    assert outcome.out == "content"
    assert (harness.volume() / "other").read_text() == "more\n"
    assert not os.path.exists(path)


def test_a_file_is_mounted_over_a_file_and_at_a_new_path(harness: RootfsHarness) -> None:
    source = harness.volume() / "source"
    source.write_text("mine")
    harness.give(harness.data)

    outcome = harness.run(
        "cat /etc/hosts /etc/new.d/file", Mount("/etc/hosts", str(source)), Mount("/etc/new.d/file", str(source))
    )

    assert outcome.out == "minemine"


def test_the_hosts_file_of_the_pod_is_visible(harness: RootfsHarness) -> None:
    (harness.directory / "etc").mkdir()
    (harness.directory / "etc/hosts").write_text("127.0.0.1 of-the-pod\n")
    harness.give(harness.data)

    assert harness.run("cat /etc/hosts").out == "127.0.0.1 of-the-pod\n"


def test_a_read_only_volume_rejects_writes(harness: RootfsHarness) -> None:
    outcome = harness.run("touch /v/x", Mount("/v", str(harness.volume()), read_only=True))

    assert "Read-only file system" in outcome.out
    assert not list(harness.volume().iterdir())


def test_nested_volumes_are_mounted_in_any_order(harness: RootfsHarness) -> None:
    (harness.volume("inner") / "file").write_text("inner")
    (harness.volume("outer") / "file").write_text("outer")
    mounts = Mount("/v/in/side", str(harness.volume("inner"))), Mount("/v", str(harness.volume("outer")))

    assert harness.run("cat /v/file /v/in/side/file", *mounts).out == "outerinner"


def test_the_size_of_a_tmpfs_is_enforced(harness: RootfsHarness) -> None:
    outcome = harness.run("head -c 3000000 /dev/zero > /m/file; stat -c %s /m/file", Mount("/m", kind="tmpfs", size=1 << 20))

    assert "No space left" in outcome.out
    assert outcome.words[-1] == str(1 << 20)


def test_a_read_only_root_leaves_volumes_writable(harness: RootfsHarness) -> None:
    script = "touch /x; touch /etc/x; touch /tmp/x; touch /v/x && touch /opt/x && touch /dev/shm/x && echo fine"

    mounts = Mount("/v", str(harness.volume())), Mount("/opt", str(harness.volume()))

    outcome = harness.run(script, *mounts, read_only_root=True)

    assert outcome.out.count("Read-only file system") == 3
    assert outcome.out.endswith("fine\n")


def test_a_missing_source_is_reported_by_name(harness: RootfsHarness) -> None:
    outcome = harness.run("true", Mount("/v", str(harness.volume() / "none")))

    assert outcome.code == 200
    assert outcome.out.startswith(f"cannot mount {harness.volume()}/none at /v: No such file")


def test_a_directory_cannot_be_mounted_over_a_file(harness: RootfsHarness) -> None:
    outcome = harness.run("true", Mount("/etc/passwd", str(harness.volume())))

    assert (outcome.code, outcome.out) == (200, "cannot mount a directory at /etc/passwd: it is a file")


def test_a_mount_of_the_host_is_visible_and_not_changed(harness: RootfsHarness) -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user has no mounts to show")
    place = harness.base / "disk"
    place.mkdir()

    def mount() -> None:
        syscalls.mount("tmpfs", str(place), "tmpfs", 0, "mode=777")
        (place / "file").write_text("of the host\n")
        harness.give(place)

    harness.first = mount
    outcome = harness.run(f"cat {place}/file; echo changed > {place}/file; echo new > {place}/new; cat {place}/*")

    assert outcome.out.splitlines() == ["of the host", "changed", "new"]
    assert not list(place.iterdir())


def test_an_interrupted_start_can_be_repeated(harness: RootfsHarness) -> None:
    assert harness.run("touch /etc/first").code == 0

    assert "No such file" in harness.run("ls /etc/first").out


def test_containers_of_a_pod_share_dev_shm_and_its_size(harness: RootfsHarness) -> None:
    pod = harness.pod(shm_bytes=1 << 20)

    def body() -> None:
        memory = shared_memory.create_namespace(pod)
        harness.beside("echo shared > /dev/shm/x", pod, 0, memory)
        harness.beside("cat /dev/shm/x; df -k --output=size /dev/shm", pod, 1, memory)

    outcome = harness.perform(body)

    assert outcome.words == ["shared", "1K-blocks", "1024"]


def test_the_default_devices_work(harness: RootfsHarness) -> None:
    outcome = harness.run(
        "ls /dev; head -c 4 /dev/zero | wc -c; echo x > /dev/null && head -c 8 /dev/urandom | wc -c; ls /dev/pts"
    )

    assert set(outcome.words[:14]) == {
        *("fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero")
    }
    assert outcome.words[14:] == ["4", "8", "ptmx"]


def test_a_terminal_can_be_opened(harness: RootfsHarness) -> None:
    outcome = harness.run("script -qec 'tty' /dev/null")

    assert "/dev/pts/0" in outcome.out


def test_a_requested_device_is_available(harness: RootfsHarness) -> None:
    assert harness.run("test -c /dev/kmsg && echo there", devices=("/dev/kmsg",)).words == ["there"]


def test_a_privileged_container_sees_the_hosts_devices_and_has_every_capability(harness: RootfsHarness) -> None:
    outcome = harness.run("test -c /dev/kmsg && echo there; grep CapBnd /proc/self/status", privileged=True)

    assert outcome.words[0] == "there"
    if harness.isolation is Isolation.ROOT:
        own = pathlib.Path("/proc/self/status").read_text().partition("CapBnd:")[2].split()[0]
        assert outcome.words[-1] == own
