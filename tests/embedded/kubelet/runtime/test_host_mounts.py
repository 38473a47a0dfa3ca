from __future__ import annotations

import pathlib

from traincrew.embedded.kubelet.runtime import host_mounts

_TABLE = r"""
20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda rw
21 20 0:5 / /proc rw - proc proc rw
22 20 8:2 / /home rw - ext4 /dev/sdb rw
23 22 8:3 / /home/deep rw - ext4 /dev/sdc rw
24 20 8:4 / /home ro - ext4 /dev/sdd rw
25 24 8:5 /part /home/new\040name rw - xfs /dev/sde ro,noquota
26 24 0:9 / /home/over rw - tmpfs tmpfs rw
27 26 0:9 / /home/over rw - tmpfs tmpfs rw
"""


def test_covered_mounts_are_ignored(tmp_path: pathlib.Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(_TABLE.lstrip())

    seen = host_mounts.visible(host_mounts.read(str(table)))

    assert [(mount.number, mount.path) for mount in seen] == [
        (20, "/"),
        (24, "/home"),
        (21, "/proc"),
        (25, "/home/new name"),
        (27, "/home/over"),
    ]


def test_a_mount_is_writable_if_it_and_its_file_system_are(tmp_path: pathlib.Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(_TABLE.lstrip())

    writable = {mount.number for mount in host_mounts.read(str(table)) if mount.writable}

    assert writable == {20, 21, 22, 23, 26, 27}
