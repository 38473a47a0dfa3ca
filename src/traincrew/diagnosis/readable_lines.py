"""Lines that people can read: without rulers and without the numbers of tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable

LINE_LIMIT = 300
MAX_QUOTED = 200
"""Characters of the last line of an output without a cause."""
WORDS = 25
"""A line with more letters than this is a sentence, even if many numbers follow."""
_TRACE = re.compile(r"^\+ (?:POD_NAME=|shift$|\S*kubectl exec )|^I\d{4} |^WARNING: All log messages before absl|^\s+\.\.\.,$")
"""Lines of `set -x` in the script with which launchers start processes in pods, and messages of TensorFlow's start."""
_RULER = re.compile(r"^[\s\-=*_#~^|+.:]*$")
_NUMBERS = re.compile(r"[\d.,eE+\-\[\]()\s]")
_TENSOR = re.compile(r"<tf\.(?:Tensor|Variable)|^\s*(?:array|tensor)\(\[|^\s*\[+[-\d]")


def readable(lines: Iterable[str]) -> list[str]:
    return [shortened(line.rstrip()) for line in lines if not is_noise(line)]


def is_noise(line: str) -> bool:
    """Whether a line is a ruler, a trace of a shell, or part of a printed tensor."""
    if _RULER.match(line) or _TRACE.match(line):
        return True
    numbers = len(_NUMBERS.findall(line))
    if len(line) - numbers > WORDS:
        return False
    return len(line) > 12 and numbers > 0.7 * len(line) and bool(re.search(r"\d", line))


def shortened(line: str) -> str:
    tensor = _TENSOR.search(line)
    if tensor and len(line) > LINE_LIMIT // 2:
        line = f"{line[: tensor.start() + 40].rstrip()} …"
    return line if len(line) <= LINE_LIMIT else f"{line[: LINE_LIMIT - 2].rstrip()} …"


def last_lines(output: str, count: int) -> list[str]:
    return readable(output.splitlines())[-count:] if output else []


def quote_last_line(line: str) -> str:
    """For an output in which no cause was found: its last line may be an ordinary one."""
    text = line.strip()
    return f'its last line was "{text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"}"'
