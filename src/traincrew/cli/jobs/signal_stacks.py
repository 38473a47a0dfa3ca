"""Stacks that a program writes into its log by `faulthandler`, when it receives the signal it has registered."""

from __future__ import annotations

import asyncio
import re
import signal

from traincrew import errors
from traincrew.cli.jobs import container_stacks
from traincrew.cli.render import stacks
from traincrew.client import pod_logs
from traincrew.client.remote import RemoteClient

TIMEOUT_SECONDS = 5.0
"""Seconds until the stacks are in the log. A process that is stopped writes none."""
SETTLE_SECONDS = 0.3
_ALLOWED = ("USR1", "USR2")
_DUMP = re.compile(r"(Current thread|Thread) 0x[0-9a-f]+ .*\(most recent call first\):|\s+File \".*\", line \d+ in .*")
SCRIPT = r"""
number=$1 name=$2
for directory in /proc/[0-9]*; do
  program=$(readlink "$directory/exe") || continue
  case ${program##*/} in python*) ;; *) continue ;; esac
  command=$(tr '\0\n' '  ' < "$directory/cmdline")
  case $command in *traincrew.embedded.kubelet.*) continue ;; esac
  pid=${directory#/proc/}
  caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "$directory/status")
  if [ $(( 0x${caught#????????} >> (number - 1) & 1 )) = 1 ]; then
    kill -s "$name" "$pid" && echo "sent $pid $command"
  else
    echo "ignored $pid $command"
  fi
done
"""
"""Signals only processes that handle the signal: it would end the others."""


async def read(client: RemoteClient, position: pod_logs.ContainerReference, name: str) -> list[stacks.ProcessStacks]:
    name = name.upper().removeprefix("SIG")
    if name not in _ALLOWED:
        raise errors.SettingsError(f"--signal {name!r} is not supported. Use one of {', '.join(_ALLOWED)}.")
    number = int(signal.Signals[f"SIG{name}"])
    before = await last_line(client, position)
    code, out, err = await container_stacks.run_script(client, position, "sh", "-c", SCRIPT, "sh", str(number), name)
    if code:
        raise errors.SettingsError(f"cannot signal the processes of the container: {' '.join(err.split())}")
    sent = [line.split(" ", 2) for line in out.splitlines() if line.startswith("sent ")]
    ignored = [line.split(" ", 2) for line in out.splitlines() if line.startswith("ignored ")]
    dump = await dumped(client, position, before) if sent else ""
    remedy = (
        f"the process does not handle SIG{name}. Add `faulthandler.register(signal.SIG{name}, all_threads=True)` to the program."
    )
    missing = "the process handles the signal and wrote no stacks to the log: it may use the signal for something else."
    # Several processes of a container write into the same log.
    return [
        *(
            stacks.ProcessStacks(int(pid), command.strip(), text=dump if index == 0 else "", problem="" if dump else missing)
            for index, (_, pid, command) in enumerate(sent)
        ),
        *(stacks.ProcessStacks(int(pid), command.strip(), problem=remedy) for _, pid, command in ignored),
    ]


async def last_line(client: RemoteClient, position: pod_logs.ContainerReference) -> pod_logs.LogPosition:
    """Where the log ends now, by the clock of the node, which may differ from that of this machine."""
    found = pod_logs.LogPosition()
    async for batch in pod_logs.lines(client, position, pod_logs.PodLogOptions(tail=1)):
        for line in batch:
            found.took(line)
    return found


async def dumped(client: RemoteClient, position: pod_logs.ContainerReference, after: pod_logs.LogPosition) -> str:
    """The stacks in the log after that line, once no more are written."""
    deadline, previous = asyncio.get_running_loop().time() + TIMEOUT_SECONDS, ""
    while asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(SETTLE_SECONDS)
        found = await _dumped_lines(client, position, after)
        if found and found == previous:
            break
        previous = found
    return previous


async def _dumped_lines(client: RemoteClient, position: pod_logs.ContainerReference, after: pod_logs.LogPosition) -> str:
    wanted = pod_logs.PodLogOptions(since=after.since())
    lines = [line async for batch in pod_logs.lines(client, position, wanted) for line in batch if line.nanoseconds > after.last]
    text = [line.text.decode(errors="replace") for line in lines]
    return "\n".join(line for line in text if _DUMP.fullmatch(line.rstrip()))
