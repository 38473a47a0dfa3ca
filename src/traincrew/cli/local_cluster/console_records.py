"""Which consoles run, and how to get another link of them: files in the data directory that only the user can read."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import secrets
from collections.abc import Iterator

import msgspec

from traincrew.embedded import private_files, process_identity

LINK_SECONDS = 60.0
"""A console that nobody has used yet starts with the first request."""


class ConsoleRecord(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    """The process that listens."""
    host: str
    port: int
    kubeconfig: str
    """The console acts with its credentials."""
    context: str = ""
    log_root: str = ""
    """The logs of the pods of this machine, for the process that `up` starts."""
    history: str = ""
    """The history of its jobs, for that process."""
    secret: str
    """Allows to ask for links."""
    token: str = ""
    """That of the first link. Empty: it was printed already."""

    @property
    def address(self) -> str:
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    def link(self, token: str) -> str:
        return f"{self.address}/#token={token}"


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def _path(data: pathlib.Path, port: int) -> pathlib.Path:
    return data / "consoles" / f"{port}.json"


def write(data: pathlib.Path, record: ConsoleRecord) -> None:
    path = _path(data, record.port)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    private_files.write(path, msgspec.json.encode(record))


def remove(data: pathlib.Path, record: ConsoleRecord) -> None:
    """Unless another console has taken the port meanwhile."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        path = _path(data, record.port)
        if msgspec.json.decode(path.read_bytes(), type=ConsoleRecord).secret == record.secret:
            path.unlink()


def records(data: pathlib.Path) -> Iterator[ConsoleRecord]:
    """Of processes that run. The record of one that was killed is removed."""
    for path in sorted((data / "consoles").glob("*.json")):
        with contextlib.suppress(OSError, msgspec.DecodeError):
            found = msgspec.json.decode(path.read_bytes(), type=ConsoleRecord)
            if process_identity.is_running(str(found.pid)):
                yield found
            else:
                path.unlink()


def running_link(data: pathlib.Path, kubeconfig: str, context: str, port: int | None) -> str:
    """A new link of a running console with these credentials, and at this port if one is given. Empty: there is none."""
    for each in records(data):
        same = os.path.realpath(each.kubeconfig) == os.path.realpath(kubeconfig) and each.context == context
        if same and port in (None, each.port) and (token := _request_token(each)):
            return each.link(token)
    return ""


def _request_token(record: ConsoleRecord) -> str:
    import http.client  # `up` does not need it

    connection = http.client.HTTPConnection(record.host, record.port, timeout=LINK_SECONDS)
    try:
        connection.request("POST", "/api/v1/link", headers={"Authorization": f"Bearer {record.secret}"})
        response = connection.getresponse()
        return str(json.loads(response.read())["token"]) if response.status == 200 else ""
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return ""  # it was killed, and perhaps another program has its port
    finally:
        connection.close()
