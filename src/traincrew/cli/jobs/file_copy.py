"""Copies files between this machine and a container, with `tar` in the container."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
import posixpath
import re
import shlex
from collections.abc import Awaitable, Callable, Coroutine

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import query, replica_selection, tar_extraction, tar_streams
from traincrew.cli.render import terminal
from traincrew.client import exec_websocket, pod_logs
from traincrew.client.remote import RemoteClient

Send = Callable[[exec_websocket.ExecWebSocket], Coroutine[None, None, None]]
Output = Callable[[int, bytes], Awaitable[None]]
_REMOTE = re.compile(r"(?P<job>(?:[A-Za-z][A-Za-z0-9.-]*/)?[A-Za-z0-9][A-Za-z0-9.-]*):(?P<path>.+)", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class RemotePath:
    job: str
    path: str


@dataclasses.dataclass(frozen=True)
class CopyRequest:
    source: str
    destination: str
    replica: str = ""
    container: str = ""


def parse_path(text: str) -> RemotePath | pathlib.Path:
    """JOB:PATH is a path in a container. A local path with a colon is written as ./a:b."""
    match = _REMOTE.fullmatch(text)
    return RemotePath(match["job"], match["path"]) if match else pathlib.Path(text)


async def copy(request: CopyRequest, target_options: cluster_target.TargetOptions) -> None:
    source, destination = parse_path(request.source), parse_path(request.destination)
    if isinstance(source, RemotePath) is isinstance(destination, RemotePath):
        raise errors.SettingsError(
            "one of SOURCE and DESTINATION must be JOB:PATH, such as mnist:/data, and the other a local path"
        )
    if isinstance(source, pathlib.Path) and not source.exists() and not source.is_symlink():
        raise errors.SettingsError(f"{source} does not exist")
    remote = source if isinstance(source, RemotePath) else destination
    assert isinstance(remote, RemotePath)
    async with query.connected(target_options) as (client, target):
        job, _ = await query.get_job(client, target.namespace, remote.job)
        pod = replica_selection.running_pods(job, request.replica)[0]
        copier = ContainerCopier(client, replica_selection.container(job, pod, request.container))
        there = f"{job.replica(pod)}:"
        if isinstance(source, pathlib.Path):
            copied = f"{source} copied to {there}{await copier.upload(source, remote.path)}"
        else:
            assert isinstance(destination, pathlib.Path)
            wanted = download_target(remote.path, destination)
            await copier.download(remote.path, wanted)
            copied = f"{there}{remote.path} copied to {wanted.path}"
    terminal.echo(copied, err=True)


@dataclasses.dataclass(frozen=True)
class DownloadTarget:
    path: pathlib.Path
    """The file or directory that is created."""
    directory: str
    """Directory of the container."""
    entry: str
    """What is copied from it. A dot: its contents."""


def download_target(path: str, destination: pathlib.Path) -> DownloadTarget:
    directory, name = posixpath.split(posixpath.normpath(path))
    whole = name in ("", ".", "..")
    target = (destination if whole or not destination.is_dir() else destination / name).absolute()
    if not target.parent.is_dir():
        raise errors.SettingsError(f"{target.parent} does not exist. Create the directory first.")
    return DownloadTarget(target, path if whole else directory or ".", "." if whole else name)


@dataclasses.dataclass(frozen=True)
class ContainerCopier:
    client: RemoteClient
    position: pod_logs.ContainerReference

    async def download(self, path: str, target: DownloadTarget) -> None:
        pieces = tar_streams.PieceQueue()
        extracting = asyncio.ensure_future(
            asyncio.to_thread(tar_extraction.extract, pieces, target.path, contents=target.entry == ".")
        )

        async def receive(data: bytes) -> None:
            await asyncio.to_thread(pieces.put, data)

        try:
            await self._run(("tar", "cf", "-", "-C", target.directory, "--", target.entry), receive)
            await asyncio.to_thread(pieces.put, b"")
        except BaseException:
            pieces.abandon()
            with contextlib.suppress(errors.TraincrewError):  # what has arrived is removed
                await extracting
            raise
        for skipped in await extracting:
            terminal.echo(f"warning: skipped {skipped}", err=True)

    async def upload(self, source: pathlib.Path, path: str) -> str:
        """Return the path of the copy."""
        into = path.endswith("/") or await self._is_directory(path)
        parent, name = (path, _name(source)) if into else posixpath.split(path)
        archive = tar_streams.LocalArchive.of(source, name)

        async def send(session: exec_websocket.ExecWebSocket) -> None:
            pieces = tar_streams.PieceQueue()
            writing = asyncio.ensure_future(asyncio.to_thread(_write, archive, pieces))
            try:
                while piece := await asyncio.to_thread(pieces.get):
                    await session.write(piece)
            finally:
                pieces.abandon()
            await writing

        script = 'head -c "$1" | tar xof - -C "$2"'
        try:
            await self._run(("sh", "-c", script, "sh", str(archive.size), parent or "."), send=send)
        except errors.SettingsError as error:
            raise errors.SettingsError(f"{error}{_directory_advice(str(error), parent)}") from None
        return posixpath.join(parent, name)

    async def _is_directory(self, path: str) -> bool:
        command = exec_websocket.Command(("sh", "-c", 'test -d "$1"', "sh", path))
        async with exec_websocket.opened(self.client, self.position, command) as session:
            return await session.run(_ignore) == 0

    async def _run(
        self,
        argv: tuple[str, ...],
        receive: Callable[[bytes], Awaitable[None]] | None = None,
        send: Send | None = None,
    ) -> None:
        messages = bytearray()

        async def output(channel: int, data: bytes) -> None:
            if channel == exec_websocket.STDOUT and receive is not None:
                await receive(data)
            elif channel == exec_websocket.STDERR:
                messages.extend(data)

        command = exec_websocket.Command(argv, stdin=send is not None)
        async with exec_websocket.opened(self.client, self.position, command) as session:
            try:
                code = await _exchange(session, output, send)
            except errors.ServerError as error:
                raise errors.ServerError(f"{error.message}. The container needs `tar` and `sh` to copy files.") from None
        if code:
            raise errors.SettingsError(_failure(self.position.pod, messages.decode(errors="replace"), code))


async def _exchange(session: exec_websocket.ExecWebSocket, output: Output, send: Send | None) -> int:
    """Send the input while the output is read. Return the exit code of the command."""
    sending = asyncio.ensure_future(send(session)) if send is not None else None
    try:
        code = await session.run(output)
        if sending is not None and code == 0:
            await sending
        return code
    finally:
        if sending is not None:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)


def _failure(pod: str, output: str, code: int) -> str:
    """The first line of tar without its name. The others say that it stopped because of the first."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines:
        return f"cannot copy in pod {pod}: tar exited with code {code}"
    text = re.sub(r"^(?:\S*/)?tar: ", "", lines[0]).replace(": Cannot stat: ", ": ").replace(": Cannot open: ", ": ")
    return f"cannot copy in pod {pod}: {text}"


def _directory_advice(error: str, directory: str) -> str:
    if not error.endswith("No such file or directory"):
        return ""
    command = f"mkdir -p {shlex.quote(posixpath.normpath(directory))}"
    return f". Mount a volume there, or create the directory in the container: `traincrew exec JOB -- {command}`."


def _name(path: pathlib.Path) -> str:
    return path.name if path.name not in ("", "..") else path.resolve().name


def _write(archive: tar_streams.LocalArchive, pieces: tar_streams.PieceQueue) -> None:
    try:
        archive.write(pieces)
    finally:
        pieces.put(b"")


async def _ignore(channel: int, data: bytes) -> None:
    return
