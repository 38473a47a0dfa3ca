"""The activity of pods, from their log files and the connections of their network."""

from __future__ import annotations

import datetime as dt
import os
import pathlib
from typing import Any

import pytest

from traincrew.embedded.kubelet.logs import log_directory
from traincrew.embedded.kubelet.stats import activity

POD: dict[str, Any] = {
    "metadata": {"namespace": "n", "name": "p", "uid": "u"},
    "spec": {"containers": [{"name": "main"}, {"name": "side"}]},
}
THEN = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def write_log(root: pathlib.Path, container: str, attempt: int, text: str, at: dt.datetime) -> None:
    directory = log_directory.container_directory(root, "n", "p", "u", container)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{attempt}.log"
    path.write_text(text)
    os.utime(path, (at.timestamp(), at.timestamp()))


def test_the_last_output_is_the_latest_line_of_the_current_runs(tmp_path: pathlib.Path) -> None:
    assert activity.last_output(tmp_path, POD) is None
    write_log(tmp_path, "main", 0, "an earlier run", THEN + dt.timedelta(hours=1))
    write_log(tmp_path, "main", 1, "", THEN)
    assert activity.last_output(tmp_path, POD) is None
    write_log(tmp_path, "side", 0, "line", THEN)
    assert activity.last_output(tmp_path, POD) == THEN


def proc(tmp_path: pathlib.Path, *lines: str, own_network: bool = True) -> pathlib.Path:
    for name in ("7", "self"):
        (tmp_path / name / "ns").mkdir(parents=True)
    (tmp_path / "self" / "ns" / "net").touch()
    if own_network:
        (tmp_path / "7" / "ns" / "net").touch()
    else:
        os.link(tmp_path / "self" / "ns" / "net", tmp_path / "7" / "ns" / "net")
    (tmp_path / "7" / "net").mkdir()
    v4 = [line for line in lines if len(line.split()[2]) < 20]
    for name, chosen in (("tcp", v4), ("tcp6", [line for line in lines if line not in v4])):
        (tmp_path / "7" / "net" / name).write_text(HEAD + "".join(f"{line}\n" for line in chosen))
    return tmp_path


LISTENS = "   0: 0000F40A:5B25 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1"
TO_POD = "   1: 0500F40A:9C40 0600F40A:5B25 01 00000000:00000000 00:00000000 00000000     0        0 2"
TO_ITSELF = "   2: 0500F40A:9C41 0500F40A:5B25 01 00000000:00000000 00:00000000 00000000     0        0 3"
TO_THE_WORLD = "   3: 0500F40A:9C42 08080808:01BB 01 00000000:00000000 00:00000000 00000000     0        0 4"
CLOSING = "   4: 0500F40A:9C43 0600F40A:5B25 06 00000000:00000000 00:00000000 00000000     0        0 5"
MAPPED = (
    "   5: 0000000000000000FFFF00000500F40A:9C44 0000000000000000FFFF00000600F40A:5B25 01 00000000:00000000 00:00000000 00000000"
    "     0        0 6"
)


@pytest.mark.parametrize(
    ("lines", "number"),
    [((), 0), ((LISTENS,), 0), ((TO_POD,), 1), ((TO_POD, TO_ITSELF, TO_THE_WORLD, CLOSING), 1), ((TO_POD, MAPPED), 2)],
    ids=["none", "listens", "to a pod", "others", "mapped to IPv6"],
)
def test_established_connections_to_other_pods_count(tmp_path: pathlib.Path, lines: tuple[str, ...], number: int) -> None:
    addresses = {"10.244.0.5", "10.244.0.6"}
    assert activity.connections(7, "10.244.0.5", addresses, proc(tmp_path, *lines)) == number


def test_the_connections_of_the_host_are_not_those_of_a_pod(tmp_path: pathlib.Path) -> None:
    assert activity.connections(7, "", {"10.244.0.6"}, proc(tmp_path, TO_POD, own_network=False)) is None


def test_a_process_that_has_ended_has_unknown_connections(tmp_path: pathlib.Path) -> None:
    assert activity.connections(8, "", (), proc(tmp_path)) is None
