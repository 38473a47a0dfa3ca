"""Lines that people can read: without rulers and without the numbers of tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable

LINE_LIMIT = 300
_TRACE = re.compile(r"^\+ (?:POD_NAME=|shift$|\S*kubectl exec )")
"""Lines of `set -x` in the script with which launchers start processes in pods."""
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
    return len(line) > 20 and numbers > 0.8 * len(line) and bool(re.search(r"\d", line))


def shortened(line: str) -> str:
    tensor = _TENSOR.search(line)
    if tensor and len(line) > LINE_LIMIT // 2:
        line = f"{line[: tensor.start() + 40].rstrip()} …"
    return line if len(line) <= LINE_LIMIT else f"{line[: LINE_LIMIT - 2].rstrip()} …"


def last_lines(output: str, count: int) -> list[str]:
    return readable(output.splitlines())[-count:] if output else []
