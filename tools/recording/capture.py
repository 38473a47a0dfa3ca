"""Runs commands in a shell on a pseudo-terminal and captures what the terminal gets."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence

from tools.recording.cast import Output

PROMPT = "$ "
_MARK = "\x1b]0;ready\x07"
"""Precedes each prompt. A terminal takes it for a window title and shows nothing."""
TYPING_SECONDS = 0.12
"""Between two typed words."""
COMMAND_SECONDS = 600.0


class CaptureError(Exception):
    """A command did not end in time, or the shell has ended."""


class CapturedShell:
    def __init__(self, size: tuple[int, int], directory: str, environment: Mapping[str, str]) -> None:
        """size: columns and lines."""
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(directory)
            variables = {**environment, "TERM": "xterm", "PS1": f"\\[{_MARK}\\]{PROMPT}"}
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "+o", "history"], variables)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._started = time.monotonic()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.outputs: list[Output] = []

    def run(self, command: str) -> None:
        """Type the command word by word and wait until it has ended."""
        for word in command.split(" "):
            os.write(self._terminal, f"{word} ".encode())
            self._read(TYPING_SECONDS)
        os.write(self._terminal, b"\b\n" if command.endswith(" ") else b"\n")
        self.wait_for_prompt()

    def wait_for_prompt(self) -> None:
        deadline, seen = time.monotonic() + COMMAND_SECONDS, len(self.outputs)
        while not any(_MARK in each.text for each in self.outputs[seen:]):
            if time.monotonic() > deadline:
                raise CaptureError("the command did not end in time")
            self._read(0.1)
        self._read(0.3)

    def _read(self, seconds: float) -> None:
        """Capture the output of that time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self._terminal], [], [], left)[0]:
                try:
                    data = os.read(self._terminal, 65536)
                except OSError:
                    raise CaptureError("the shell has ended") from None
                self.outputs.append(Output(time.monotonic() - self._started, self._decoder.decode(data)))

    def close(self) -> None:
        os.kill(self._pid, signal.SIGHUP)
        os.close(self._terminal)
        os.waitpid(self._pid, 0)


def capture(commands: Sequence[str], size: tuple[int, int], directory: str, environment: Mapping[str, str]) -> list[Output]:
    shell = CapturedShell(size, directory, environment)
    try:
        shell.wait_for_prompt()
        for command in commands:
            shell.run(command)
        return shell.outputs
    finally:
        shell.close()
