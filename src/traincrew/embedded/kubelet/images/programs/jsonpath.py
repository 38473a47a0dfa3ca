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
    """Raises ValueError for an unsupported expression."""
    pieces = _pieces(template)
    text, rest = _render(pieces, root)
    if rest:
        raise ValueError("unexpected {end}")
    return text


def _pieces(template: str) -> list[tuple[bool, str]]:
    pieces, at = [], 0
    for piece in _PIECES.finditer(template):
        pieces += [(False, template[at : piece.start()]), (True, piece[1].strip())]
        at = piece.end()
    return [each for each in [*pieces, (False, template[at:])] if each[1]]


def _render(pieces: list[tuple[bool, str]], node: Any) -> tuple[str, list[tuple[bool, str]]]:
    text = ""
    while pieces:
        (active, piece), pieces = pieces[0], pieces[1:]
        if not active:
            text += piece
        elif piece == "end":
            return text, [(True, "end"), *pieces]
        elif piece.startswith("range "):
            inner, pieces = _block(pieces)
            text += "".join(_render(inner, each)[0] for each in select(piece[6:].strip(), node))
        elif piece.startswith('"'):
            text += json.loads(piece)
        else:
            text += " ".join(_format(each) for each in select(piece, node))
    return text, []


def _block(pieces: list[tuple[bool, str]]) -> tuple[list[tuple[bool, str]], list[tuple[bool, str]]]:
    depth = 1
    for index, (active, piece) in enumerate(pieces):
        depth += (active and piece.startswith("range ")) - (active and piece == "end")
        if not depth:
            return pieces[:index], pieces[index + 1 :]
    raise ValueError("not in range, nothing to end")


def select(path: str, node: Any) -> list[Any]:
    path = path.removeprefix("$").removeprefix("@")
    if path in ("", "."):
        return [node]
    if not path.startswith((".", "[")):
        path = f".{path}"
    values, at = [node], 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"unrecognized expression {path[at:]!r}")
        values = [inner for each in values for inner in _step(step, each)]
        at = step.end()
    return values


def _step(step: re.Match[str], node: Any) -> list[Any]:
    if step["all"]:
        return list(node.values()) if isinstance(node, dict) else list(node) if isinstance(node, list) else []
    if step["index"]:
        return node[int(step["index"]) :][:1] if isinstance(node, list) else []
    if step["field"]:
        return [each for each in node if _matches(step, each)] if isinstance(node, list) else []
    name = (step["quoted"] or step["name"]).replace("\\.", ".")
    return [node[name]] if isinstance(node, dict) and name in node else []


def _matches(step: re.Match[str], each: Any) -> bool:
    same = [_format(value) for value in select(f".{step['field']}", each)] == [step["value"]]
    return same if step["sign"] == "==" else not same


def _format(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
