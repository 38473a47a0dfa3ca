"""What a pod cannot do: read the cluster's data or other pods' files, write to the host, lead a mount out of its root."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest
from tests.embedded.kubelet.runtime.rootfs_harness import RootfsHarness, rootfs_harness

from traincrew.embedded.kubelet.runtime.spec import Isolation, Mount


@pytest.fixture(params=[Isolation.ROOT, Isolation.USER])
def made(request: pytest.FixtureRequest) -> Iterator[RootfsHarness]:
    with rootfs_harness(request.param) as one:
        yield one


def test_the_clusters_data_is_an_empty_directory(made: RootfsHarness) -> None:
    outcome = made.run(f"ls -A {made.data} | wc -l; cat {made.data}/kubeconfig; touch {made.data}/x; umount {made.data}")

    assert outcome.words[0] == "0"
    assert "secret" not in outcome.out
    assert "Read-only file system" in outcome.out
    assert (made.data / "kubeconfig").read_text() == "secret"


@pytest.mark.skipif(os.geteuid() != 0, reason="/root is root's")
def test_data_in_a_home_directory_is_hidden_and_the_rest_of_it_shown() -> None:
    with rootfs_harness(Isolation.ROOT, where="/root") as one:
        (one.base / "other").write_text("shown")
        outcome = one.run(f"cat {one.base}/other; ls -A {one.data} | wc -l; echo mine > /root/written; cat /root/written")

        assert outcome.words == ["shown0", "mine"]
        assert not os.path.exists("/root/written")


def test_a_host_path_above_the_clusters_data_shows_all_but_it(made: RootfsHarness) -> None:
    (made.base / "other").write_text("shown\n")

    outcome = made.run("cat /h/other; ls -A /h/data | wc -l", Mount("/h", str(made.base)))

    assert outcome.words == ["shown", "0"]


def test_the_data_itself_as_a_host_path_is_empty(made: RootfsHarness) -> None:
    assert made.run("ls -A /h | wc -l", Mount("/h", str(made.data))).words == ["0"]


def test_a_host_path_below_the_clusters_data_is_refused(made: RootfsHarness) -> None:
    outcome = made.run("cat /h", Mount("/h", str(made.data / "kubeconfig")))

    assert outcome.code == 200
    assert "the cluster's data directory cannot be mounted into pods" in outcome.out


def test_a_link_on_the_host_into_the_clusters_data_is_refused(made: RootfsHarness) -> None:
    link = made.base / "link"
    link.symlink_to(made.data / "kubeconfig")

    outcome = made.run("cat /h", Mount("/h", str(link)))

    assert outcome.code == 200
    assert "the cluster's data directory cannot be mounted into pods" in outcome.out


def test_another_pods_volume_is_refused(made: RootfsHarness) -> None:
    other = made.data / "node/pods/two/volumes/secret"
    other.mkdir(parents=True)
    (other / "token").write_text("secret")
    made.give(made.data)

    outcome = made.run("cat /h/token", Mount("/h", str(other)))

    assert outcome.code == 200
    assert "secret\n" not in outcome.out


@pytest.mark.parametrize("target", ["..", "../../../two", "/etc", "../other"])
def test_a_link_in_a_volume_does_not_lead_its_mount_elsewhere(made: RootfsHarness, target: str) -> None:
    made.volume("other")
    (made.data / "node/pods/two").mkdir(exist_ok=True)
    (made.volume() / "link").symlink_to(target)
    made.give(made.data)

    outcome = made.run("ls /h", Mount("/h", str(made.volume() / "link")))

    assert outcome.code == 200
    assert "it is outside of its volume" in outcome.out


@pytest.mark.parametrize("target", ["../../../../../../../../../etc", "/etc", "/proc/self/root/etc", "/v/../../../etc"])
def test_a_link_in_a_volume_leads_a_mount_path_nowhere_but_into_the_containers_root(made: RootfsHarness, target: str) -> None:
    (made.volume() / "link").symlink_to(target)
    made.give(made.data)
    mounts = Mount("/v", str(made.volume())), Mount("/v/link/led-astray/x", str(made.volume("other")))

    made.run("true", *mounts)

    assert not os.path.exists("/etc/led-astray")
    assert not (made.base / "etc").exists()


def test_dots_in_a_mount_path_do_not_lead_out(made: RootfsHarness) -> None:
    outcome = made.run("test -d /etc/dotted && echo inside", Mount("/v/../../../../etc/dotted", str(made.volume())))

    assert outcome.words == ["inside"]
    assert not os.path.exists("/etc/dotted")


def test_a_link_that_leads_to_itself_is_refused(made: RootfsHarness) -> None:
    (made.volume() / "link").symlink_to("link")
    made.give(made.data)

    outcome = made.run("true", Mount("/v", str(made.volume())), Mount("/v/link/x", str(made.volume("other"))))

    assert outcome.code == 200
    assert "Too many levels of symbolic links" in outcome.out


def test_nothing_is_mounted_in_proc(made: RootfsHarness) -> None:
    outcome = made.run("true", Mount("/proc/self", str(made.volume())))

    assert outcome.code == 200
    assert "cannot mount anything at /proc/self" in outcome.out


def test_a_disk_of_the_host_opens_nowhere(made: RootfsHarness) -> None:
    disk = os.stat("/").st_dev
    places = ["/x", "/dev/x", "/tmp/x", "/v/x", "/dev/shm/x", "/run/x", "/m/x"]  # noqa: S108 -- of the container
    number = f"{os.major(disk)} {os.minor(disk)}"
    script = "; ".join(f"mknod {place} b {number}; head -c 1 {place} | wc -c" for place in places)

    outcome = made.run(script, Mount("/v", str(made.volume())), Mount("/m", kind="tmpfs"))

    assert [word for word in outcome.words if word.isdecimal()] == ["0"] * len(places)


def test_the_kernels_settings_are_not_writable(made: RootfsHarness) -> None:
    paths = ["/proc/sys/kernel/panic", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/sys/kernel/mm/ksm/run"]
    script = "; ".join(f"(echo 0 > {path}) && echo written {path}" for path in paths)

    assert "written" not in made.run(script).out


def test_only_its_own_processes_are_in_proc(made: RootfsHarness) -> None:
    outcome = made.run("ls -d /proc/[0-9]* | wc -l; ls -la /proc/1/root")

    assert int(outcome.words[0]) < 6
    assert outcome.words[-1] == "/"


def test_masked_files_of_proc_are_empty(made: RootfsHarness) -> None:
    outcome = made.run("for f in kcore keys timer_list; do test -e /proc/$f && head -c 10 /proc/$f; done; ls -A /sys/firmware")

    assert outcome.out == ""


def test_mounting_and_unmounting_are_not_allowed(made: RootfsHarness) -> None:
    outcome = made.run("mount -t tmpfs x /mnt && echo done; umount /proc/sys && echo done; mount -o remount,rw /sys && echo done")

    assert "done" not in outcome.out


def test_changing_the_root_does_not_lead_back_to_the_host(made: RootfsHarness) -> None:
    script = (
        "import os; os.mkdir('/tmp/c'); here = os.open('/', os.O_RDONLY); os.chroot('/tmp/c'); os.fchdir(here);"
        "[os.chdir('..') for _ in range(64)]; os.chroot('.');"
        f"print(os.listdir('{made.data}'))"
    )

    assert made.run(f'/usr/bin/python3 -c "{script}"').out.strip() == "[]"


def test_the_hosts_files_are_as_they_were(made: RootfsHarness) -> None:
    before = pathlib.Path("/etc/passwd").stat()

    made.run("echo x >> /etc/passwd; chmod 777 /etc/passwd; chown 5:5 /etc/passwd; rm -f /etc/passwd; rm -rf /usr/games")

    after = pathlib.Path("/etc/passwd").stat()
    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_mode) == (before.st_mtime_ns, before.st_ctime_ns, before.st_mode)
