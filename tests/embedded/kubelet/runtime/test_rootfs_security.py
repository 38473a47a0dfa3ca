"""A pod cannot read data of the cluster or files of other pods, write to the host, or redirect a mount out of its rootfs."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest
from tests import interpreters
from tests.embedded.kubelet.runtime.rootfs_harness import RootfsHarness, rootfs_harness

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.spec import Isolation, Mount


@pytest.fixture(params=[Isolation.ROOT, Isolation.USER])
def harness(request: pytest.FixtureRequest) -> Iterator[RootfsHarness]:
    with rootfs_harness(request.param) as opened:
        yield opened


def test_the_data_directory_of_the_cluster_is_empty(harness: RootfsHarness) -> None:
    outcome = harness.run(
        f"ls -A {harness.data} | wc -l; cat {harness.data}/kubeconfig; touch {harness.data}/x; umount {harness.data}"
    )

    assert outcome.words[0] == "0"
    assert "secret" not in outcome.out
    assert "Read-only file system" in outcome.out
    assert (harness.data / "kubeconfig").read_text() == "secret"


@pytest.mark.skipif(os.geteuid() != 0, reason="/root is root's")
def test_a_data_directory_below_home_is_hidden_and_the_rest_is_visible() -> None:
    with rootfs_harness(Isolation.ROOT, where="/root") as harness:
        (harness.base / "other").write_text("shown")
        outcome = harness.run(
            f"cat {harness.base}/other; ls -A {harness.data} | wc -l; echo mine > /root/written; cat /root/written"
        )

        assert outcome.words == ["shown0", "mine"]
        assert not os.path.exists("/root/written")


def test_a_host_path_above_the_data_directory_hides_the_data(harness: RootfsHarness) -> None:
    (harness.base / "other").write_text("shown\n")

    outcome = harness.run("cat /h/other; ls -A /h/data | wc -l", Mount("/h", str(harness.base)))

    assert outcome.words == ["shown", "0"]


def test_the_data_directory_as_a_host_path_is_empty(harness: RootfsHarness) -> None:
    assert harness.run("ls -A /h | wc -l", Mount("/h", str(harness.data))).words == ["0"]


def test_a_host_path_below_the_data_directory_is_rejected(harness: RootfsHarness) -> None:
    outcome = harness.run("cat /h", Mount("/h", str(harness.data / "kubeconfig")))

    assert outcome.code == 200
    assert "the cluster's data directory cannot be mounted into pods" in outcome.out


def test_a_symlink_of_the_host_into_the_data_directory_is_rejected(harness: RootfsHarness) -> None:
    link = harness.base / "link"
    link.symlink_to(harness.data / "kubeconfig")

    outcome = harness.run("cat /h", Mount("/h", str(link)))

    assert outcome.code == 200
    assert "the cluster's data directory cannot be mounted into pods" in outcome.out


def test_a_volume_of_another_pod_is_rejected(harness: RootfsHarness) -> None:
    other = harness.data / "node/pods/two/volumes/secret"
    other.mkdir(parents=True)
    (other / "token").write_text("secret")
    harness.give(harness.data)

    outcome = harness.run("cat /h/token", Mount("/h", str(other)))

    assert outcome.code == 200
    assert "secret\n" not in outcome.out


@pytest.mark.parametrize("target", ["..", "../../../two", "/etc", "../other"])
def test_a_symlink_in_a_volume_does_not_redirect_the_source_of_a_mount(harness: RootfsHarness, target: str) -> None:
    harness.volume("other")
    (harness.data / "node/pods/two").mkdir(exist_ok=True)
    (harness.volume() / "link").symlink_to(target)
    harness.give(harness.data)

    outcome = harness.run("ls /h", Mount("/h", str(harness.volume() / "link")))

    assert outcome.code == 200
    assert "it is outside of its volume" in outcome.out


@pytest.mark.parametrize("target", ["../../../../../../../../../etc", "/etc", "/proc/self/root/etc", "/v/../../../etc"])
def test_a_symlink_in_a_volume_resolves_a_mount_path_within_the_rootfs(harness: RootfsHarness, target: str) -> None:
    (harness.volume() / "link").symlink_to(target)
    harness.give(harness.data)
    mounts = Mount("/v", str(harness.volume())), Mount("/v/link/led-astray/x", str(harness.volume("other")))

    harness.run("true", *mounts)

    assert not os.path.exists("/etc/led-astray")
    assert not (harness.base / "etc").exists()


def test_dots_in_a_mount_path_stay_within_the_rootfs(harness: RootfsHarness) -> None:
    outcome = harness.run("test -d /etc/dotted && echo inside", Mount("/v/../../../../etc/dotted", str(harness.volume())))

    assert outcome.words == ["inside"]
    assert not os.path.exists("/etc/dotted")


def test_a_symlink_loop_is_rejected(harness: RootfsHarness) -> None:
    (harness.volume() / "link").symlink_to("link")
    harness.give(harness.data)

    outcome = harness.run("true", Mount("/v", str(harness.volume())), Mount("/v/link/x", str(harness.volume("other"))))

    assert outcome.code == 200
    assert "Too many levels of symbolic links" in outcome.out


def test_mounts_in_proc_are_rejected(harness: RootfsHarness) -> None:
    outcome = harness.run("true", Mount("/proc/self", str(harness.volume())))

    assert outcome.code == 200
    assert "cannot mount anything at /proc/self" in outcome.out


def test_a_disk_of_the_host_cannot_be_opened(harness: RootfsHarness) -> None:
    disk = os.stat("/").st_dev
    paths = ["/x", "/dev/x", "/tmp/x", "/v/x", "/dev/shm/x", "/run/x", "/m/x"]  # noqa: S108 -- of the container
    number = f"{os.major(disk)} {os.minor(disk)}"
    script = "; ".join(f"mknod {path} b {number}; head -c 1 {path} | wc -c" for path in paths)

    outcome = harness.run(script, Mount("/v", str(harness.volume())), Mount("/m", kind="tmpfs"))

    assert [word for word in outcome.words if word.isdecimal()] == ["0"] * len(paths)


def test_the_mode_of_a_device_of_the_host_cannot_be_changed(harness: RootfsHarness) -> None:
    outcome = harness.run("chmod 666 /dev/null; chown 0 /dev/null; echo word > /dev/null && echo written")

    assert outcome.out.count("Read-only file system") == 2
    assert outcome.words[-1] == "written"


def test_sysctls_are_not_writable(harness: RootfsHarness) -> None:
    paths = ["/proc/sys/kernel/panic", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/sys/kernel/mm/ksm/run"]
    script = "; ".join(f"(echo 0 > {path}) && echo written {path}" for path in paths)

    assert "written" not in harness.run(script).out


def test_proc_shows_processes_of_the_container_only(harness: RootfsHarness) -> None:
    outcome = harness.run("ls -d /proc/[0-9]* | wc -l; ls -la /proc/1/root")

    assert int(outcome.words[0]) < 6
    assert outcome.words[-1] == "/"


def test_masked_files_of_proc_are_empty(harness: RootfsHarness) -> None:
    outcome = harness.run("for f in kcore keys timer_list; do test -e /proc/$f && head -c 10 /proc/$f; done; ls -A /sys/firmware")

    assert outcome.out == ""


def test_mount_and_umount_are_not_permitted(harness: RootfsHarness) -> None:
    outcome = harness.run(
        "mount -t tmpfs x /mnt && echo done; umount /proc/sys && echo done; mount -o remount,rw /sys && echo done"
    )

    assert "done" not in outcome.out


def test_chroot_does_not_escape_to_the_host(harness: RootfsHarness) -> None:
    script = (
        "import os; os.mkdir('/tmp/c'); here = os.open('/', os.O_RDONLY); os.chroot('/tmp/c'); os.fchdir(here);"
        "[os.chdir('..') for _ in range(64)]; os.chroot('.');"
        f"print(os.listdir('{harness.data}'))"
    )

    assert harness.run(f'{interpreters.in_containers()} -c "{script}"').out.strip() == "[]"


def test_files_of_the_host_are_unchanged(harness: RootfsHarness) -> None:
    before = pathlib.Path("/etc/passwd").stat()

    harness.run("echo x >> /etc/passwd; chmod 777 /etc/passwd; chown 5:5 /etc/passwd; rm -f /etc/passwd; rm -rf /usr/games")

    after = pathlib.Path("/etc/passwd").stat()
    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_mode) == (before.st_mtime_ns, before.st_ctime_ns, before.st_mode)


@pytest.fixture
def mounted_twice(harness: RootfsHarness) -> RootfsHarness:
    """The directory above the data directory is mounted at `second`, a file of it at `token`, and a directory at `part`."""
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    (harness.data / "pki").mkdir()
    (harness.data / "pki" / "key").write_text("secret")
    (harness.data / "volumes/claim").mkdir(parents=True)
    harness.give(harness.data)
    for name in ("second", "part"):
        (harness.base / name).mkdir()
    (harness.base / "token").touch()

    def mount() -> None:
        syscalls.mount(str(harness.base), str(harness.base / "second"), "", syscalls.MS_BIND)
        syscalls.mount(str(harness.data / "kubeconfig"), str(harness.base / "token"), "", syscalls.MS_BIND)
        syscalls.mount(str(harness.data / "pki"), str(harness.base / "part"), "", syscalls.MS_BIND)

    harness.first = mount
    return harness


def test_no_second_mount_shows_the_data_directory(mounted_twice: RootfsHarness) -> None:
    base = mounted_twice.base
    (base / "other").write_text("shown")
    paths = ("second/data/kubeconfig", "second/data/pki/key", "token", "part/key", "second/token", "second/part/key")

    outcome = mounted_twice.run(f"cat {base}/other {base}/second/other; cd {base} && cat {' '.join(paths)}; ls -A second/data")

    assert outcome.out.startswith("shownshown"), outcome.out
    assert "secret" not in outcome.out


def test_a_host_path_above_a_second_mount_does_not_show_the_data_directory(mounted_twice: RootfsHarness) -> None:
    paths = ("second/data/kubeconfig", "token", "part/key", "data/kubeconfig")

    outcome = mounted_twice.run(
        f"cd /h && cat {' '.join(paths)}; echo done", Mount("/h", str(mounted_twice.base), host_path=True)
    )

    assert outcome.words[-1] == "done", outcome.out
    assert "secret" not in outcome.out


@pytest.mark.parametrize("name", ["second/data/kubeconfig", "second/data/pki", "second/data/volumes/claim", "token", "part"])
def test_a_host_path_into_the_data_directory_by_a_second_mount_is_rejected(mounted_twice: RootfsHarness, name: str) -> None:
    outcome = mounted_twice.run("true", Mount("/h", str(mounted_twice.base / name), host_path=True))

    assert outcome.code == 200
    assert "the cluster's data directory cannot be mounted into pods" in outcome.out
