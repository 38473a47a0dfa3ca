"""Stacks of the processes of a container, with py-spy in the container."""

from __future__ import annotations

import json

from traincrew import errors
from traincrew.cli import py_spy
from traincrew.cli.render import stacks
from traincrew.client import exec_websocket, pod_logs
from traincrew.client.remote import RemoteClient

NO_PY_SPY = 127
SCRIPT = r"""
command -v py-spy > /dev/null || exit 127
for directory in /proc/[0-9]*; do
  program=$(readlink "$directory/exe") || continue
  case ${program##*/} in python*) ;; *) continue ;; esac
  pid=${directory#/proc/}
  case $(tr '\0' ' ' < "$directory/cmdline") in *traincrew.embedded.kubelet.*|*py-spy*) continue ;; esac
  echo "process $pid $(tr '\0\n' '  ' < "$directory/cmdline")"
  py-spy dump --json --pid "$pid" 2>&1 | tr '\n' '\036'
  echo
done
"""
"""Prints two lines for each Python process: its command, and its stacks or the error of py-spy, with \\x1e for its line ends."""


async def run_script(client: RemoteClient, position: pod_logs.ContainerReference, *argv: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error. Raise Forbidden if the user may not use exec."""
    output = {exec_websocket.STDOUT: bytearray(), exec_websocket.STDERR: bytearray()}

    async def collect(channel: int, data: bytes) -> None:
        output[channel].extend(data)

    try:
        async with exec_websocket.opened(client, position, exec_websocket.Command(argv)) as session:
            code = await session.run(collect)
    except errors.Forbidden as error:
        raise errors.Forbidden(
            f'you may not run commands in pods: the right "create pods/exec" in namespace {position.namespace!r} is missing '
            f"({error.message})"
        ) from None
    out, err = (bytes(output[each]).decode(errors="replace") for each in (exec_websocket.STDOUT, exec_websocket.STDERR))
    return code, out, err


async def read(client: RemoteClient, position: pod_logs.ContainerReference) -> list[stacks.ProcessStacks]:
    code, out, err = await run_script(client, position, "sh", "-c", SCRIPT)
    if code == NO_PY_SPY:
        raise errors.SettingsError(
            "py-spy is not installed in the container. Install it (`pip install py-spy`), use --image NAME to run it in an "
            "ephemeral container, or register `faulthandler` in the program and use --signal USR1."
        )
    if code:
        raise errors.SettingsError(f"cannot list the processes of the container: {' '.join(err.split()) or f'exit code {code}'}")
    return parse(out)


def parse(output: str) -> list[stacks.ProcessStacks]:
    """The output of SCRIPT."""
    lines, found = output.split("\n"), []
    for index, line in enumerate(lines):
        word, _, rest = line.partition(" ")
        if word != "process":
            continue
        pid, _, command = rest.partition(" ")
        found.append(_process(int(pid), command.strip(), "".join(lines[index + 1 : index + 2]).replace("\x1e", "\n")))
    return found


def _process(pid: int, command: str, dump: str) -> stacks.ProcessStacks:
    try:
        return stacks.ProcessStacks(pid, command, stacks.parse_py_spy(dump))
    except (json.JSONDecodeError, KeyError, TypeError):
        pass
    if "permission" in dump.lower() or "not permitted" in dump.lower():
        problem = (
            "the container has no right to trace processes: add SYS_PTRACE to securityContext.capabilities.add, use --image NAME "
            "to run py-spy in an ephemeral container, or use --signal with a registered faulthandler."
        )
        return stacks.ProcessStacks(pid, command, problem=problem)
    return stacks.ProcessStacks(pid, command, problem=f"py-spy cannot read the stacks: {py_spy.reason(dump)}")
