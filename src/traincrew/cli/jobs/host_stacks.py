"""Stacks of the processes of a pod of this machine, with py-spy on the host."""

from __future__ import annotations

import asyncio
import pathlib

from traincrew import errors
from traincrew.cli import py_spy
from traincrew.cli.jobs import local_processes
from traincrew.cli.render import stacks

TIMEOUT_SECONDS = 30.0
PTRACE_SCOPE = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")


def find_py_spy() -> str:
    """Raise SettingsError if there is none."""
    if (found := py_spy.find()) is None:
        raise errors.SettingsError(
            f"py-spy, which reads the stacks, is not installed. Run `{py_spy.install_command()}`, or register `faulthandler` in "
            "the program and use --signal USR1."
        )
    return found


async def read(data: pathlib.Path, uid: str) -> list[stacks.ProcessStacks]:
    program = find_py_spy()
    processes = await asyncio.to_thread(local_processes.python_processes, data, uid)
    return list(await asyncio.gather(*(_dump(program, process) for process in processes)))


async def _dump(program: str, process: local_processes.PodProcess) -> stacks.ProcessStacks:
    running = await asyncio.create_subprocess_exec(
        program, "dump", "--json", "--pid", str(process.pid),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            out, err = await running.communicate()
    except TimeoutError:
        running.kill()
        await running.wait()
        return stacks.ProcessStacks(process.container_pid, process.command, problem="py-spy did not end in time")
    problem = "" if running.returncode == 0 else _problem(err.decode(errors="replace"), process.pid)
    threads = stacks.parse_py_spy(out.decode(errors="replace")) if not problem else ()
    return stacks.ProcessStacks(process.container_pid, process.command, threads, problem=problem)


def _problem(message: str, pid: int) -> str:
    if "permission" not in message.lower() and "not permitted" not in message.lower():
        return f"py-spy cannot read the stacks: {py_spy.reason(message)}"
    restricted = _ptrace_scope()
    rule = f" (kernel.yama.ptrace_scope={restricted})" if restricted not in ("", "0") else ""
    return (
        f"you may not trace process {pid}{rule}. Run `traincrew stacks` as root, or use --signal with a registered faulthandler."
    )


def _ptrace_scope() -> str:
    try:
        return PTRACE_SCOPE.read_text().strip()
    except OSError:
        return ""
