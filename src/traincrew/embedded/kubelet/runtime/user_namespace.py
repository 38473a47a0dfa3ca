"""A user namespace for an ordinary user: root in it is the user himself, and the ids lent to him are everybody else."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from typing import NoReturn

from traincrew.embedded.kubelet.runtime import syscalls

_HOW = (
    "have newuidmap and newgidmap installed (package uidmap), and ranges of ids in /etc/subuid and /etc/subgid "
    "(usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER)"
)


@dataclass(frozen=True)
class IdMapping:
    """How many users and groups a namespace has. why: what keeps it to a single one, and what to do; "" if nothing does."""

    users: int
    groups: int
    why: str


def enter() -> IdMapping:
    """Takes this process, which must have one thread, into a new user namespace, as its root."""
    asking, asked = os.pipe()
    telling, told = os.pipe()
    owner = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.close(asked)
        os.close(telling)
        _help(owner, asking, told)
    os.close(asking)
    os.close(told)
    try:
        syscalls.unshare(syscalls.CLONE_NEWUSER)
        os.write(asked, b"m")
        with open(telling, "rb", closefd=False) as answer:
            content = json.loads(answer.read() or '{"failed": "the ids could not be mapped"}')
    finally:
        os.close(asked)
        os.close(telling)
        os.waitpid(helper, 0)
    if "failed" in content:
        raise OSError(content.get("errno", 1), content["failed"])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    return IdMapping(**content)


def map_ids(pid: int) -> IdMapping:
    """Gives a process that has just made its user namespace the ids it can have. Called outside of it, by its own user."""
    if os.geteuid() == 0:
        return IdMapping(_all(pid, "uid_map"), _all(pid, "gid_map"), "")
    users, no_users = _lent(pid, "newuidmap", "/etc/subuid", os.getuid())
    if not users:
        _write(pid, "uid_map", f"0 {os.getuid()} 1")
    groups, no_groups = _lent(pid, "newgidmap", "/etc/subgid", os.getgid())
    if not groups:
        _write(pid, "setgroups", "deny")
        _write(pid, "gid_map", f"0 {os.getgid()} 1")
    reasons = "; ".join(dict.fromkeys(filter(None, (no_users, no_groups))))
    return IdMapping(users or 1, groups or 1, f"no subordinate ids: {reasons}; {_HOW}" if reasons else "")


def subordinate_ranges(table: str, uid: int, name: str) -> list[tuple[int, int]]:
    """First id and count of what is lent to a user, who is named there by name or by number."""
    found = []
    with contextlib.suppress(OSError), open(table, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            fields = line.strip().split(":")
            if len(fields) == 3 and fields[0] in (name, str(uid)) and fields[1].isdecimal() and fields[2].isdecimal():
                found.append((int(fields[1]), int(fields[2])))
    return [(first, count) for first, count in found if count]


def _help(owner: int, asking: int, told: int) -> NoReturn:
    """Stays outside: only there the ids can be given."""
    try:
        if os.read(asking, 1):
            os.write(told, json.dumps(asdict(map_ids(owner))).encode())
    except BaseException as error:
        number = error.errno if isinstance(error, OSError) else None
        os.write(told, json.dumps({"failed": f"the ids could not be mapped: {error}", "errno": number or 1}).encode())
    finally:
        os._exit(0)


def _all(pid: int, table: str) -> int:
    """Root lends everything that he has himself."""
    with open(f"/proc/self/{table}", encoding="ascii") as lines:
        own = [[int(word) for word in line.split()] for line in lines]
    _write(pid, table, "".join(f"{first} {first} {count}\n" for first, _, count in own))
    return sum(count for _, _, count in own)


def _lent(pid: int, program: str, table: str, own: int) -> tuple[int, str]:
    """How many ids the program of the system gave; if none, why."""
    path = shutil.which(program) or shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if path is None:
        return 0, f"{program} is not installed"
    lent = subordinate_ranges(table, os.getuid(), _name())
    if not lent:
        return 0, f"{table} has no range for user {_name() or os.getuid()}"
    arguments, inside = [path, str(pid), "0", str(own), "1"], 1
    for first, count in lent:
        arguments += [str(inside), str(first), str(count)]
        inside += count
    failure = _run(arguments)
    return (0, f"{program}: {failure}") if failure else (inside, "")


def _run(arguments: list[str]) -> str:
    """Empty, or what the program complained of."""
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 2)]
    pid = os.posix_spawn(arguments[0], arguments, {"PATH": "/usr/bin:/bin"}, file_actions=actions)
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as complaints:
        words = complaints.read().strip()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return (words or f"exit code {code}") if code else ""


def _name() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def _write(pid: int, table: str, content: str) -> None:
    with open(f"/proc/{pid}/{table}", "w", encoding="ascii") as file:
        file.write(content)
