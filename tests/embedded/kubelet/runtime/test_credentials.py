from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
from collections.abc import Iterator

import pytest
from tests.embedded.kubelet.runtime.rootfs_harness import ORDINARY_UID, RootfsHarness, rootfs_harness

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.container import capabilities
from traincrew.embedded.kubelet.runtime.spec import Isolation

_STATUS = "grep -E 'Cap|NoNew' /proc/self/status; id -u; id -g; id -G"


@pytest.fixture(params=[Isolation.ROOT, Isolation.USER])
def harness(request: pytest.FixtureRequest) -> Iterator[RootfsHarness]:
    with rootfs_harness(request.param) as opened:
        yield opened


@pytest.fixture
def root_harness() -> Iterator[RootfsHarness]:
    with rootfs_harness(Isolation.ROOT) as opened:
        yield opened


def status(out: str) -> dict[str, str]:
    return dict(line.split(":\t") for line in out.splitlines() if ":\t" in line)


def test_root_has_the_default_capabilities_of_container_runtimes_and_no_more(harness: RootfsHarness) -> None:
    found = status(harness.run(_STATUS).out)

    assert found["CapBnd"] == found["CapEff"] == found["CapPrm"] == "00000000a80425fb"
    assert int(found["CapInh"], 16) == int(found["CapAmb"], 16) == 0
    assert found["NoNewPrivs"] == "0"


def test_capabilities_are_added_and_dropped(harness: RootfsHarness) -> None:
    found = status(harness.run(_STATUS, add_capabilities=("NET_ADMIN",), drop_capabilities=("CAP_CHOWN", "mknod")).out)

    default = 0xA80425FB
    numbers = capabilities.NUMBERS
    assert int(found["CapEff"], 16) == default & ~(1 << numbers["CHOWN"] | 1 << numbers["MKNOD"]) | 1 << numbers["NET_ADMIN"]


def test_dropping_all_keeps_the_added_capabilities(harness: RootfsHarness) -> None:
    found = status(harness.run(_STATUS, add_capabilities=("KILL",), drop_capabilities=("ALL",)).out)

    assert int(found["CapEff"], 16) == int(found["CapBnd"], 16) == 1 << capabilities.NUMBERS["KILL"]


def test_adding_all_omits_the_dropped_capabilities() -> None:
    bits = capabilities.effective_set(("ALL",), ("SYS_ADMIN",), privileged=False)

    assert bits == capabilities.ALL & ~(1 << capabilities.NUMBERS["SYS_ADMIN"])


def test_an_unknown_capability_is_reported_by_name(harness: RootfsHarness) -> None:
    outcome = harness.run("true", add_capabilities=("FLY",))

    assert (outcome.code, outcome.out) == (200, 'unknown capability "FLY"')


def test_no_new_privileges_is_set(harness: RootfsHarness) -> None:
    assert status(harness.run(_STATUS, no_new_privileges=True).out)["NoNewPrivs"] == "1"


def test_another_user_has_its_groups_and_no_capabilities(root_harness: RootfsHarness) -> None:
    outcome = root_harness.run(_STATUS, user=4321, group=77, groups=(88, 99))
    found = status(outcome.out)

    assert int(found["CapEff"], 16) == int(found["CapPrm"], 16) == 0
    assert outcome.out.splitlines()[-3:] == ["4321", "77", "77 88 99"]


def test_a_user_without_a_group_has_the_group_of_passwd_or_0(root_harness: RootfsHarness) -> None:
    assert root_harness.run("id -u; id -g", user=1).words == ["1", "1"]
    assert root_harness.run("id -u; id -g", user=4321).words == ["4321", "0"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"user": 1000}, "runAsUser 1000"),
        ({"group": 1000}, "runAsGroup 1000"),
        ({"groups": (1000,)}, "supplementalGroups [1000]"),
    ],
)
def test_without_subordinate_ids_another_user_is_rejected_with_the_reason(values: dict[str, object], words: str) -> None:
    with rootfs_harness(Isolation.USER) as harness:
        outcome = harness.run("true", **values)  # type: ignore[arg-type]

    assert outcome.code == 200
    assert outcome.out.startswith(f"{words} needs subordinate ids. ")


@pytest.mark.skipif(os.geteuid() != 0, reason="ids are lent by root")
@pytest.mark.skipif(shutil.which("newuidmap") is None, reason="newuidmap is not installed (package uidmap)")
def test_with_subordinate_ids_another_user_is_available() -> None:
    with rootfs_harness(Isolation.USER) as harness:
        harness.first = lambda: configure_subordinate_ids(harness.base)
        outcome = harness.run(_STATUS + "; touch /tmp/mine; stat -c %u /tmp/mine", user=1000, group=1000, groups=(5,))

    assert outcome.words[-5:] == ["1000", "1000", "1000", "5", "1000"]


def configure_subordinate_ids(base: pathlib.Path) -> None:
    """Applies to this mount namespace only: the files of the host are not changed."""
    lines = {
        "passwd": pathlib.Path("/etc/passwd").read_text() + f"lender:x:{ORDINARY_UID}:{ORDINARY_UID}::/:/bin/sh\n",
        "subuid": "lender:300000:65536\n",
        "subgid": "lender:300000:65536\n",
    }
    for name, content in lines.items():
        table = base / name
        table.write_text(content)
        table.chmod(0o644)
        with contextlib.suppress(FileNotFoundError):
            syscalls.mount(str(table), f"/etc/{name}", "", syscalls.MS_BIND)
