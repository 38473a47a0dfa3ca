"""kubectl's templates: `{range .items[*]}{.metadata.name}{"\\n"}{end}`, with filters such as `[?(@.type=="Ready")]`."""

import json
import re
from typing import Any

_PIECES = re.compile(r'\{((?:"(?:[^"\\]|\\.)*"|[^{}"])*)\}')
_STEP = re.compile(
    r"""\.?\[\?\(\s*@\.(?P<field>[\w./-]+)\s*(?P<sign>==|!=)\s*["']?(?P<value>[^"')]*)["']?\s*\)\]"""
    r"""|\[(?P<index>-?\d+)\]|(?P<all>\.?\[\*\]|\.\*)|\[["'](?P<quoted>[^"']+)["']\]|\.(?P<name>(?:[\w/-]|\\.)+)"""
)


def render(template: str, root: Any) -> str:
    """Raises ValueError for what it does not know."""
    pieces = _pieces(template)
    text, rest = _rendered(pieces, root)
    if rest:
        raise ValueError("unexpected {end}")
    return text


def _pieces(template: str) -> list[tuple[bool, str]]:
    found, at = [], 0
    for piece in _PIECES.finditer(template):
        found += [(False, template[at : piece.start()]), (True, piece[1].strip())]
        at = piece.end()
    return [each for each in [*found, (False, template[at:])] if each[1]]


def _rendered(pieces: list[tuple[bool, str]], here: Any) -> tuple[str, list[tuple[bool, str]]]:
    text = ""
    while pieces:
        (active, piece), pieces = pieces[0], pieces[1:]
        if not active:
            text += piece
        elif piece == "end":
            return text, [(True, "end"), *pieces]
        elif piece.startswith("range "):
            inner, pieces = _block(pieces)
            text += "".join(_rendered(inner, each)[0] for each in select(piece[6:].strip(), here))
        elif piece.startswith('"'):
            text += json.loads(piece)
        else:
            text += " ".join(_shown(each) for each in select(piece, here))
    return text, []


def _block(pieces: list[tuple[bool, str]]) -> tuple[list[tuple[bool, str]], list[tuple[bool, str]]]:
    depth = 1
    for index, (active, piece) in enumerate(pieces):
        depth += (active and piece.startswith("range ")) - (active and piece == "end")
        if not depth:
            return pieces[:index], pieces[index + 1 :]
    raise ValueError("not in range, nothing to end")


def select(path: str, here: Any) -> list[Any]:
    path = path.removeprefix("$").removeprefix("@")
    if path in ("", "."):
        return [here]
    if not path.startswith((".", "[")):
        path = f".{path}"
    found, at = [here], 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"unrecognized expression {path[at:]!r}")
        found = [inner for each in found for inner in _step(step, each)]
        at = step.end()
    return found


def _step(step: re.Match[str], here: Any) -> list[Any]:
    if step["all"]:
        return list(here.values()) if isinstance(here, dict) else list(here) if isinstance(here, list) else []
    if step["index"]:
        return here[int(step["index"]) :][:1] if isinstance(here, list) else []
    if step["field"]:
        return [each for each in here if _fits(step, each)] if isinstance(here, list) else []
    name = (step["quoted"] or step["name"]).replace("\\.", ".")
    return [here[name]] if isinstance(here, dict) and name in here else []


def _fits(step: re.Match[str], each: Any) -> bool:
    same = [_shown(value) for value in select(f".{step['field']}", each)] == [step["value"]]
    return same if step["sign"] == "==" else not same


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
