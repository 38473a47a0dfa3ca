"""User namespaces for an ordinary user: root maps to the user, other ids to the subordinate ids."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from typing import NoReturn

from traincrew.embedded.kubelet.runtime import syscalls

_REMEDY = (
    "install newuidmap and newgidmap (package uidmap), and run "
    "`usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER`"
)


@dataclass(frozen=True)
class IdMapping:
    """The number of mapped users and groups. why: the reason for a single one, and the remedy; "": there are more."""

    users: int
    groups: int
    why: str


def enter() -> IdMapping:
    """Moves this process, which must have one thread, into a new user namespace, as its root."""
    request_reader, request_writer = os.pipe()
    reply_reader, reply_writer = os.pipe()
    owner = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.close(request_writer)
        os.close(reply_reader)
        _serve_map_request(owner, request_reader, reply_writer)
    os.close(request_reader)
    os.close(reply_writer)
    try:
        syscalls.unshare(syscalls.CLONE_NEWUSER)
        os.write(request_writer, b"m")
        with open(reply_reader, "rb", closefd=False) as reply:
            content = json.loads(reply.read() or '{"failed": "the ids could not be mapped"}')
    finally:
        os.close(request_writer)
        os.close(reply_reader)
        os.waitpid(helper, 0)
    if "failed" in content:
        raise OSError(content.get("errno", 1), content["failed"])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    return IdMapping(**content)


def map_ids(pid: int) -> IdMapping:
    """Writes the id maps of a new user namespace. Called outside of it, by the same user."""
    if os.geteuid() == 0:
        return IdMapping(_map_all(pid, "uid_map"), _map_all(pid, "gid_map"), "")
    users, no_users = _map_subordinate(pid, "newuidmap", "/etc/subuid", os.getuid())
    if not users:
        _write(pid, "uid_map", f"0 {os.getuid()} 1")
    groups, no_groups = _map_subordinate(pid, "newgidmap", "/etc/subgid", os.getgid())
    if not groups:
        _write(pid, "setgroups", "deny")
        _write(pid, "gid_map", f"0 {os.getgid()} 1")
    reasons = "; ".join(dict.fromkeys(filter(None, (no_users, no_groups))))
    return IdMapping(users or 1, groups or 1, f"no subordinate ids: {reasons}; {_REMEDY}" if reasons else "")


def subordinate_ranges(table: str, uid: int, name: str) -> list[tuple[int, int]]:
    """Subordinate ranges (first id, count) of a user, whom the table lists by name or by uid."""
    found = []
    with contextlib.suppress(OSError), open(table, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            fields = line.strip().split(":")
            if len(fields) == 3 and fields[0] in (name, str(uid)) and fields[1].isdecimal() and fields[2].isdecimal():
                found.append((int(fields[1]), int(fields[2])))
    return [(first, count) for first, count in found if count]


def _serve_map_request(owner: int, request_reader: int, reply_writer: int) -> NoReturn:
    """Runs outside of the namespace: only there the maps can be written."""
    try:
        if os.read(request_reader, 1):
            os.write(reply_writer, json.dumps(asdict(map_ids(owner))).encode())
    except BaseException as error:
        number = error.errno if isinstance(error, OSError) else None
        os.write(reply_writer, json.dumps({"failed": f"the ids could not be mapped: {error}", "errno": number or 1}).encode())
    finally:
        os._exit(0)


def _map_all(pid: int, table: str) -> int:
    """Root maps all ids that it has itself."""
    with open(f"/proc/self/{table}", encoding="utf-8") as lines:
        own = [[int(word) for word in line.split()] for line in lines]
    _write(pid, table, "".join(f"{first} {first} {count}\n" for first, _, count in own))
    return sum(count for _, _, count in own)


def _map_subordinate(pid: int, program: str, table: str, own: int) -> tuple[int, str]:
    """The number of ids that newuidmap or newgidmap mapped; if 0, the reason."""
    path = shutil.which(program) or shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if path is None:
        return 0, f"{program} is not installed"
    ranges = subordinate_ranges(table, os.getuid(), _user_name())
    if not ranges:
        return 0, f"{table} has no range for user {_user_name() or os.getuid()}"
    arguments, inside = [path, str(pid), "0", str(own), "1"], 1
    for first, count in ranges:
        arguments += [str(inside), str(first), str(count)]
        inside += count
    failure = _run(arguments)
    return (0, f"{program}: {failure}") if failure else (inside, "")


def _run(arguments: list[str]) -> str:
    """Empty, or the error output of the program."""
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 2)]
    pid = os.posix_spawn(arguments[0], arguments, {"PATH": "/usr/bin:/bin"}, file_actions=actions)
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as stream:
        output = stream.read().strip()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return (output or f"exit code {code}") if code else ""


def _user_name() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def _write(pid: int, table: str, content: str) -> None:
    with open(f"/proc/{pid}/{table}", "w", encoding="utf-8") as file:
        file.write(content)
