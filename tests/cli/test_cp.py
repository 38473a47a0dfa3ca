"""`traincrew cp`, in both directions."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import tarfile
import time

import pytest
from tests.cli.cluster_fixture import JobCluster, write_manifests
from tests.cluster import manifests

from traincrew import errors
from traincrew.cli.jobs import file_copy, tar_extraction, tar_streams
from traincrew.embedded.file_trees import removal, walk


@pytest.fixture
async def running_job(job_cluster: JobCluster, tmp_path: pathlib.Path) -> JobCluster:
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1, Worker=1)))
    await job_cluster.run("j-master-0", "j-worker-0")
    return job_cluster


async def test_a_file_is_copied_to_a_replica_and_back(running_job: JobCluster, tmp_path: pathlib.Path) -> None:
    content = os.urandom(3_000_000)
    (tmp_path / "data.bin").write_bytes(content)
    assert await running_job("cp", f"{tmp_path}/data.bin", "j:copied.bin", "--replica", "worker-0") == (
        0,
        "",
        f"{tmp_path}/data.bin copied to worker-0:copied.bin\n",
    )
    assert (running_job.container("j-worker-0").directory / "copied.bin").read_bytes() == content
    back = tmp_path / "back"
    back.mkdir()
    assert await running_job("cp", "pytorchjob/j:copied.bin", str(back), "--replica", "worker-0") == (
        0,
        "",
        f"worker-0:copied.bin copied to {back}/copied.bin\n",
    )
    assert (back / "copied.bin").read_bytes() == content


async def test_a_directory_is_copied_with_its_contents(running_job: JobCluster, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "source"
    (source / "deep" / "empty").mkdir(parents=True)
    (source / "script.sh").write_text("#!/bin/sh\n")
    (source / "script.sh").chmod(0o755)
    (source / "deep" / "link").symlink_to("../script.sh")
    assert (await running_job("cp", str(source), "j:target"))[0] == 0
    said = (await running_job("cp", str(source), "j:target/"))[2]  # exists: the copy goes into it
    assert said == f"{source} copied to master-0:target/source\n"
    assert (await running_job("cp", "j:target", str(tmp_path / "back")))[0] == 0
    for copied in (tmp_path / "back", tmp_path / "back" / "source"):
        assert (copied / "deep" / "empty").is_dir()
        assert os.readlink(copied / "deep" / "link") == "../script.sh"
        assert os.access(copied / "script.sh", os.X_OK)
    (tmp_path / "back" / "kept").write_text("kept")
    assert (await running_job("cp", "j:target/.", str(tmp_path / "back")))[0] == 0
    assert (tmp_path / "back" / "kept").read_text() == "kept"


async def test_a_missing_file_is_an_error_and_nothing_is_written(running_job: JobCluster, tmp_path: pathlib.Path) -> None:
    code, _, err = await running_job("cp", "j:nosuch", str(tmp_path / "target"))
    assert (code, err) == (2, "error: cannot copy in pod j-master-0: nosuch: No such file or directory\n")
    assert (code, (tmp_path / "target").exists()) == (2, False)
    code, _, err = await running_job("cp", str(tmp_path / "nosuch"), "j:x")
    assert (code, err) == (2, f"error: {tmp_path}/nosuch does not exist\n")
    (tmp_path / "big").write_bytes(os.urandom(20_000_000))
    code, _, err = await running_job("cp", str(tmp_path / "big"), "j:no/such/directory")
    assert (code, "No such file or directory. Mount a volume there, or create the directory" in err) == (2, True)
    assert "`traincrew exec JOB -- mkdir -p no/such`" in err


async def test_a_link_that_leads_outside_is_skipped(running_job: JobCluster, tmp_path: pathlib.Path) -> None:
    source = running_job.container("j-master-0").directory / "tree"
    source.mkdir()
    (source / "evil").symlink_to("/etc/passwd")
    (source / "good").write_text("good")
    code, _, err = await running_job("cp", "j:tree", str(tmp_path / "copied"))
    assert (code, "skipped tree/evil" in err) == (0, True)
    assert sorted(each.name for each in (tmp_path / "copied").iterdir()) == ["good"]


@pytest.mark.parametrize("text", ["./a:b", "/a:b", "../j:x", "plain", "a b:c"])
def test_a_local_path_may_have_a_colon(text: str) -> None:
    assert file_copy.parse_path(text) == pathlib.Path(text)


@pytest.mark.parametrize(("text", "job", "path"), [("j:x", "j", "x"), ("tfjob/j:/a:b", "tfjob/j", "/a:b")])
def test_a_path_of_a_replica_has_its_job(text: str, job: str, path: str) -> None:
    assert file_copy.parse_path(text) == file_copy.RemotePath(job, path)


async def test_two_local_paths_are_an_error(running_job: JobCluster) -> None:
    code, _, err = await running_job("cp", "a", "b")
    assert (code, "must be JOB:PATH" in err) == (2, True)


def test_the_size_of_an_archive_is_known_before_it_is_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "d").mkdir()
    for size in (0, 1, 511, 512, 513, 20_000):
        (tmp_path / "d" / ("n" * 120 + str(size))).write_bytes(b"x" * size)
    os.link(tmp_path / "d" / ("n" * 120 + "513"), tmp_path / "d" / "hard")
    archive, pieces, written = tar_streams.LocalArchive.of(tmp_path / "d", "d"), tar_streams.PieceQueue(), 0
    archive.write(pieces)
    pieces.put(b"")
    while piece := pieces.get():
        written += len(piece)
    assert written == archive.size


def archive_of(*members: tarfile.TarInfo) -> tar_streams.PieceQueue:
    content, pieces = io.BytesIO(), tar_streams.PieceQueue()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    for piece in (content.getvalue(), b""):
        pieces._pieces.put(piece)
    return pieces


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, link, mode, 1 if kind == tarfile.REGTYPE else 0
    return info


LEVELS = 1100
DEEP = [member("/".join(["t", *["d"] * level]), tarfile.DIRTYPE, mode=0o755) for level in range(LEVELS)]


def test_a_very_deep_directory_is_extracted_and_merged_and_leaves_nothing(tmp_path: pathlib.Path) -> None:
    started = time.thread_time()
    for _ in range(2):  # the second time, it is merged into the first
        assert tar_extraction.extract(archive_of(*DEEP, member(f"{DEEP[-1].name}/file")), tmp_path / "target") == []
    assert time.thread_time() - started < 5, "each path was resolved anew"
    assert [each.name for each in tmp_path.iterdir()] == ["target"]
    assert [each.is_directory for each in walk.walk(tmp_path)].count(False) == 1
    removal.remove_tree(tmp_path / "target")


def test_an_archive_that_breaks_off_in_a_very_deep_directory_leaves_nothing(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.SettingsError, match="cannot write"):
        tar_extraction.extract(archive_of(*DEEP, member(f"{DEEP[-1].name}/{'n' * 4000}")), tmp_path / "target")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "members",
    [
        [member("t", tarfile.SYMTYPE, "/etc"), member("t/hosts-of-traincrew")],
        [member("t", tarfile.DIRTYPE), member("t/l", tarfile.SYMTYPE, "../../.."), member("t/l/x")],
        [member("t", tarfile.DIRTYPE), member("t/../../x")],
        [member("/etc/hosts-of-traincrew"), member("t")],
        [member("t", tarfile.DIRTYPE), member("t/l", tarfile.SYMTYPE, "."), member("t/l", tarfile.DIRTYPE), member("t/l/x")],
        [member("t", tarfile.DIRTYPE), member("t", tarfile.SYMTYPE, "/etc"), member("t/x")],
    ],
)
def test_an_archive_writes_only_below_its_target(tmp_path: pathlib.Path, members: list[tarfile.TarInfo]) -> None:
    (tmp_path / "place").mkdir()
    with contextlib.suppress(errors.TraincrewError):
        tar_extraction.extract(archive_of(*members), tmp_path / "place" / "target")
    assert [each.name for each in tmp_path.iterdir()] == ["place"]
    assert {each.name for each in (tmp_path / "place").iterdir()} <= {"target"}
    assert not pathlib.Path("/etc/hosts-of-traincrew").exists()
    assert not pathlib.Path("/etc/x").exists()


def test_extracted_files_have_no_special_bits_and_only_their_owner_may_write_them(tmp_path: pathlib.Path) -> None:
    modes = {0o777: 0o755, 0o4755: 0o755, 0o070: 0o640, 0o666: 0o644, 0o100: 0o700, 0o000: 0o600}
    tree = [member("t", tarfile.DIRTYPE, mode=0), *(member(f"t/{mode:o}", mode=mode) for mode in modes)]
    assert tar_extraction.extract(archive_of(*tree), tmp_path / "target") == []
    assert {mode: (tmp_path / "target" / f"{mode:o}").stat().st_mode & 0o7777 for mode in modes} == modes


def test_links_inside_are_extracted_and_those_that_lead_out_are_skipped_with_the_reason(tmp_path: pathlib.Path) -> None:
    tree = [member("t", tarfile.DIRTYPE), member("t/d", tarfile.DIRTYPE), member("t/file")]
    links = {"up": "../file", "same": ".", "absolute": "/etc", "outside": "../../..", "by-link": "same/../../../x"}
    tree += [member(f"t/d/{name}", tarfile.SYMTYPE, target) for name, target in links.items()]
    tree += [
        member("t/hard", tarfile.LNKTYPE, "t/file"),
        member("t/passwd", tarfile.LNKTYPE, "/etc/passwd"),
        member("t/pipe", tarfile.FIFOTYPE),
    ]
    skipped = tar_extraction.extract(archive_of(*tree), tmp_path / "target")
    assert [each.split(": it is ")[0] for each in skipped] == ["t/d/absolute", "t/d/outside", "t/d/by-link", "t/passwd", "t/pipe"]
    assert (tmp_path / "target" / "d" / "up").read_text() == (tmp_path / "target" / "hard").read_text() == "x"
    assert sorted(each.name for each in (tmp_path / "target" / "d").iterdir()) == ["same", "up"]
