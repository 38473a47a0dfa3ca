"""What a container finds, at each level: the host's files below, its own above, its volumes where it asked for them."""

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
def made(request: pytest.FixtureRequest) -> Iterator[RootfsHarness]:
    with rootfs_harness(request.param) as one:
        yield one


def test_the_hosts_programs_run_and_its_files_are_read(made: RootfsHarness) -> None:
    outcome = made.run("cat /etc/passwd; uname -n; id -u")

    assert outcome.code == 0
    assert pathlib.Path("/etc/passwd").read_text() in outcome.out


@pytest.mark.parametrize("path", ["/etc", "/usr/local/lib", "/var/lib", "/opt", ""])
def test_what_is_written_lands_in_the_containers_layer(made: RootfsHarness, path: str) -> None:
    name = f"{path}/written-{uuid.uuid4().hex}"

    outcome = made.run(f"echo content > {name} && cat {name}")

    assert outcome.words == ["content"]
    assert not os.path.exists(name)
    assert list(made.layer().rglob(os.path.basename(name)))


def test_files_of_the_host_can_be_removed_and_made_anew(made: RootfsHarness) -> None:
    outcome = made.run("rm /etc/passwd && ls /etc/passwd; echo mine > /etc/passwd && cat /etc/passwd")

    assert "No such file" in outcome.out
    assert outcome.words[-1] == "mine"


def test_a_directory_of_the_host_can_be_renamed_and_removed_by_root() -> None:
    with rootfs_harness(Isolation.ROOT) as one:
        outcome = one.run(
            "mv /etc /etc.moved && cat /etc.moved/hostname > /dev/null && rm -r /etc.moved && mkdir /etc && ls -A /etc | wc -l"
        )

    assert outcome.words == ["0"]
    assert os.path.exists("/etc/passwd")


def test_tmp_and_run_are_the_containers_own_and_empty(made: RootfsHarness) -> None:
    outcome = made.run("ls -A /tmp /var/tmp; ls -A /run; stat -c %a /tmp /var/tmp /run; touch /tmp/x /run/y")

    assert outcome.code == 0
    assert outcome.words == ["/tmp:", "/var/tmp:", "lock", "1777", "1777", "755"]  # noqa: S108 -- of the container


@pytest.mark.parametrize("path", ["/train/deep/er", "/etc/mpi", "/usr/share/new/one", "/var/run/secrets/x", "/home/new/x"])
def test_a_volume_is_mounted_where_the_host_has_nothing(made: RootfsHarness, path: str) -> None:
    (made.volume() / "file").write_text("content")

    outcome = made.run(f"cat {path}/file; echo more > {path}/other", Mount(path, str(made.volume())))

    assert outcome.out == "content"
    assert (made.volume() / "other").read_text() == "more\n"
    assert not os.path.exists(path)


def test_a_file_is_mounted_on_a_file_and_where_none_is(made: RootfsHarness) -> None:
    source = made.volume() / "source"
    source.write_text("mine")
    made.give(made.data)

    outcome = made.run("cat /etc/hosts /etc/new.d/file", Mount("/etc/hosts", str(source)), Mount("/etc/new.d/file", str(source)))

    assert outcome.out == "minemine"


def test_the_pods_own_hosts_file_is_seen(made: RootfsHarness) -> None:
    (made.directory / "etc").mkdir()
    (made.directory / "etc/hosts").write_text("127.0.0.1 of-the-pod\n")
    made.give(made.data)

    assert made.run("cat /etc/hosts").out == "127.0.0.1 of-the-pod\n"


def test_a_read_only_volume_refuses_writing(made: RootfsHarness) -> None:
    outcome = made.run("touch /v/x", Mount("/v", str(made.volume()), read_only=True))

    assert "Read-only file system" in outcome.out
    assert not list(made.volume().iterdir())


def test_a_volume_within_a_volume_is_seen_whatever_the_order(made: RootfsHarness) -> None:
    (made.volume("inner") / "file").write_text("inner")
    (made.volume("outer") / "file").write_text("outer")
    mounts = Mount("/v/in/side", str(made.volume("inner"))), Mount("/v", str(made.volume("outer")))

    assert made.run("cat /v/file /v/in/side/file", *mounts).out == "outerinner"


def test_a_tmpfs_holds_no_more_than_its_size(made: RootfsHarness) -> None:
    outcome = made.run("head -c 3000000 /dev/zero > /m/file; stat -c %s /m/file", Mount("/m", kind="tmpfs", size=1 << 20))

    assert "No space left" in outcome.out
    assert outcome.words[-1] == str(1 << 20)


def test_a_read_only_root_leaves_volumes_writable(made: RootfsHarness) -> None:
    script = "touch /x; touch /etc/x; touch /tmp/x; touch /v/x && touch /opt/x && touch /dev/shm/x && echo fine"

    mounts = Mount("/v", str(made.volume())), Mount("/opt", str(made.volume()))

    outcome = made.run(script, *mounts, read_only_root=True)

    assert outcome.out.count("Read-only file system") == 3
    assert outcome.out.endswith("fine\n")


def test_a_missing_source_is_told_by_name(made: RootfsHarness) -> None:
    outcome = made.run("true", Mount("/v", str(made.volume() / "none")))

    assert outcome.code == 200
    assert outcome.out.startswith(f"cannot mount {made.volume()}/none at /v: No such file")


def test_a_directory_is_not_mounted_on_a_file(made: RootfsHarness) -> None:
    outcome = made.run("true", Mount("/etc/passwd", str(made.volume())))

    assert (outcome.code, outcome.out) == (200, "cannot mount a directory at /etc/passwd: it is a file")


def test_a_mount_of_the_host_shows_through_and_keeps_what_it_has(made: RootfsHarness) -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user has no mounts to show")
    place = made.base / "disk"
    place.mkdir()

    def mount() -> None:
        syscalls.mount("tmpfs", str(place), "tmpfs", 0, "mode=777")
        (place / "file").write_text("of the host\n")
        made.give(place)

    made.first = mount
    outcome = made.run(f"cat {place}/file; echo changed > {place}/file; echo new > {place}/new; cat {place}/*")

    assert outcome.out.splitlines() == ["of the host", "changed", "new"]
    assert not list(place.iterdir())


def test_what_a_start_in_the_middle_left_is_no_hindrance(made: RootfsHarness) -> None:
    assert made.run("touch /etc/first").code == 0

    assert "No such file" in made.run("ls /etc/first").out


def test_containers_of_a_pod_share_its_memory_and_its_size(made: RootfsHarness) -> None:
    pod = made.pod(shm_bytes=1 << 20)

    def body() -> None:
        memory = shared_memory.create_namespace(pod)
        made.beside("echo shared > /dev/shm/x", pod, 0, memory)
        made.beside("cat /dev/shm/x; df -k --output=size /dev/shm", pod, 1, memory)

    outcome = made.perform(body)

    assert outcome.words == ["shared", "1K-blocks", "1024"]


def test_devices_are_few_and_work(made: RootfsHarness) -> None:
    outcome = made.run("ls /dev; head -c 4 /dev/zero | wc -c; echo x > /dev/null && head -c 8 /dev/urandom | wc -c; ls /dev/pts")

    assert set(outcome.words[:14]) == {
        *("fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero")
    }
    assert outcome.words[14:] == ["4", "8", "ptmx"]


def test_a_terminal_can_be_opened(made: RootfsHarness) -> None:
    outcome = made.run("script -qec 'tty' /dev/null")

    assert "/dev/pts/0" in outcome.out


def test_an_asked_for_device_is_there(made: RootfsHarness) -> None:
    assert made.run("test -c /dev/kmsg && echo there", devices=("/dev/kmsg",)).words == ["there"]


def test_a_privileged_container_sees_the_hosts_devices_and_has_every_capability(made: RootfsHarness) -> None:
    outcome = made.run("test -c /dev/kmsg && echo there; grep CapBnd /proc/self/status", privileged=True)

    assert outcome.words[0] == "there"
    if made.isolation is Isolation.ROOT:
        own = pathlib.Path("/proc/self/status").read_text().partition("CapBnd:")[2].split()[0]
        assert outcome.words[-1] == own
