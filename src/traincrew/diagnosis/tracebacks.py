"""Python tracebacks in the output of a process: exceptions with their chains, also if the beginning is cut off."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Literal

from traincrew.diagnosis import autograph, exception_groups, readable_lines
from traincrew.diagnosis.rank_streams import OutputLine

MESSAGE_LINES = 12
"""Lines of an exception's message that are read. Some messages contain whole tensors."""
FOREIGN_LINES = 12
"""Lines of other threads that may stand between the frames of a traceback."""
_HEADER = re.compile(r"^(?P<indent>\s*)(?:\|\s+)?(?:Original )?Traceback \(most recent call last\):\s*$")
_FRAME = re.compile(r'^(?P<indent>\s*)File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_EXCEPTION = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?::(?: (?P<message>.*))?)?$")
_FINAL = re.compile(r"(?:Error|Exception|Exit|Interrupt|Warning|Failure|Timeout|NotFound|Unavailable|Aborted)$")
_INTERNAL = re.compile(
    r"\[\S+\.(?:cc|cpp|h|cu):\d+\] |\{\{function_node [^}]*\}\} |tensorflow\.python\.framework\.errors_impl\.| \[Op:\w+\].*$"
)
"""Places in the source code of libraries and names inside of TensorFlow, which only their authors need."""
_CAUSED = "The above exception was the direct cause of the following exception:"
_HANDLING = "During handling of the above exception, another exception occurred:"
_LIBRARY = re.compile(
    r"site-packages/|dist-packages/|/lib(?:64)?/python\d|<frozen |^<(?!stdin|string)|/bin/torchrun$|/bin/horovodrun$|"
    r"/__autograph_generated_file"
)
_NOT_FATAL = re.compile(r"^(?:Exception ignored (?:in|on|while)|Exception in thread |--- Logging error ---)")
_LOG_LINE = re.compile(
    r"^(?:\d{4}-\d\d-\d\d|[IWEF]\d{4} |\[\w+\d*\]|\[\d{4}|INFO|WARNING|ERROR|DEBUG|LAUNCH|Abort\(\d|Stack trace:|"
    r"/\S+:\d+: \w*Warning: |[-=*#]{8,})"
)

Link = Literal["", "caused", "handling", "nested"]


@dataclasses.dataclass(frozen=True)
class PythonException:
    text: str
    """Type and message as printed, such as `ValueError: bad value`. The message may have several lines."""
    frame: str
    """The innermost frame of the user's own program, such as `File "/w/train.py", line 3, in main`."""
    code: str
    """The source line of that frame."""
    first: int
    """Number of the line at which its traceback begins."""
    fatal: bool = True
    """False: the process survives it, as an exception in another thread or in a destructor."""
    raised_as: str = ""
    """The exception that it caused (`raise … from`), if that is another one."""
    printed: str = ""
    """Type and message of the last exception of its chain, as printed."""
    output: tuple[str, ...] = ()
    """The lines that show it, if they are others than its frame and its text."""

    @property
    def summary(self) -> str:
        """One line. A first line that only announces the next ones is joined with the first of these."""
        lines = [_INTERNAL.sub("", line).strip() for line in self.text.splitlines() if line.strip()]
        head = lines[0]
        return f"{head} {lines[1]}" if head.endswith(":") and len(lines) > 1 else head

    @property
    def evidence(self) -> tuple[str, ...]:
        """Frame, source line and message. A source line may look like the numbers of a tensor, of which messages are freed."""
        if self.output:
            return tuple(readable_lines.readable(self.output))
        outer = [f"raised as {self.raised_as}"] if self.raised_as else []
        program = [readable_lines.shortened(line) for line in (self.frame, f"  {self.code}") if line.strip()]
        return (*program, *readable_lines.readable([*self.text.splitlines(), *outer]))


@dataclasses.dataclass
class _Block:
    """One traceback while it is read."""

    link: Link
    first: int
    fatal: bool
    frame: tuple[str, str] = ("", "")
    own_frame: tuple[str, str] = ("", "")
    text: str = ""

    def add_frame(self, frame: re.Match[str], code: str) -> None:
        self.frame = (frame[0].strip(), code)
        if not _LIBRARY.search(frame["file"]):
            self.own_frame = self.frame


def exceptions(lines: Sequence[OutputLine]) -> list[PythonException]:
    """The exceptions of the output, in its order. Of a chain only the one that explains the others is returned."""
    chains: list[list[_Block]] = []
    for block in _blocks(autograph.as_tracebacks(exception_groups.without_margins(lines))):
        if block.link and chains:
            chains[-1].append(block)
        else:
            chains.append([block])
    return [_explaining(chain) for chain in chains]


def _explaining(chain: list[_Block]) -> PythonException:
    """The innermost exception: the cause of `raise … from`, and the exception inside a report about another process.

    An exception that was raised while another one was handled usually explains more than that one.
    """
    chosen = len(chain) - 1
    while chosen > 0 and chain[chosen].link == "caused":
        chosen -= 1
    block = chain[chosen]
    frame, code = block.own_frame if block.own_frame[0] else block.frame
    text = f"AssertionError: {block.frame[1]}" if block.text == "AssertionError" and block.frame[1] else block.text
    last = chain[-1].text.partition("\n")[0]
    outer = last if chosen < len(chain) - 1 and last != block.text else ""
    fatal = all(each.fatal for each in chain)
    return PythonException(text, frame, code, chain[0].first, fatal, outer, printed=chain[-1].text)


def _blocks(lines: Sequence[OutputLine]) -> list[_Block]:
    blocks: list[_Block] = []
    position, link, fatal = 0, "", True
    while position < len(lines):
        text = lines[position].text
        if text.strip() in (_CAUSED, _HANDLING):
            link = "caused" if text.strip() == _CAUSED else "handling"
        elif _NOT_FATAL.match(text):
            fatal = False
        elif (header := _HEADER.match(text)) or (_FRAME.match(text)):
            nested = bool(blocks) and _is_nested(text, lines, position)
            block = _Block("nested" if nested and not link else link, lines[position].number, fatal)  # type: ignore[arg-type]
            end = _read(block, lines, position + 1 if header else position, _indent(text) if header else _indent(text) - 2)
            if block.text:
                blocks.append(block)
                link, fatal = "", True
            position = max(end, position + 1)
            continue
        elif text.strip() and not link:
            fatal = fatal and not _NOT_FATAL.match(text)
        position += 1
    return blocks


def _is_nested(text: str, lines: Sequence[OutputLine], position: int) -> bool:
    """Whether a traceback belongs to the message of the exception before it."""
    before = " ".join(line.text for line in lines[max(position - 3, 0) : position])
    return "Original Traceback" in text or "terminated with the following error" in before


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _read(block: _Block, lines: Sequence[OutputLine], position: int, indent: int) -> int:
    """Read frames and the exception; return the position of the first line behind."""
    foreign = 0
    while position < len(lines) and foreign < FOREIGN_LINES:
        text = lines[position].text
        if frame := _FRAME.match(text):
            code = lines[position + 1].text if position + 1 < len(lines) else ""
            block.add_frame(frame, "" if _FRAME.match(code) or _indent(code) <= _indent(text) else code.strip())
        elif text.strip() and _indent(text) <= max(indent, 0):
            if _HEADER.match(text) or text.strip() in (_CAUSED, _HANDLING):
                return position
            if _EXCEPTION.match(text.strip()) and not _LOG_LINE.match(text):
                return _read_exception(block, lines, position)
            foreign += 1
        position += 1
    return position


def _read_exception(block: _Block, lines: Sequence[OutputLine], position: int) -> int:
    first = lines[position].text.strip()
    message, position = [first], position + 1
    while position < len(lines) and len(message) < MESSAGE_LINES:
        text = lines[position].text
        announced = len(message) == 1 and first.endswith(":") and not text.strip()
        if not announced and (not text.strip() or ends_message(text)):
            break
        message.append(text.rstrip())
        position += 1
    block.text = "\n".join(message)
    return position


def ends_message(text: str) -> bool:
    return bool(
        _HEADER.match(text) or _LOG_LINE.match(text) or _NOT_FATAL.match(text) or text.strip() in (_CAUSED, _HANDLING, '"""')
    )


def bare_exception(lines: Sequence[OutputLine]) -> PythonException | None:
    """The last line that looks like an exception without a traceback, as programs print that catch their exceptions."""
    for line in reversed(lines):
        match = _EXCEPTION.match(line.text.strip())
        if match and match["message"] and _FINAL.search(match["type"]):
            return PythonException(line.text.strip(), "", "", line.number)
    return None
