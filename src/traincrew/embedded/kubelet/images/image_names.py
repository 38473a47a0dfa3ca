"""Image names, and patterns that match them. PURE.

`python` is `docker.io/library/python:latest`. A pattern has the form of a name. In repository and tag, `*` matches any number of
characters and `?` matches one. A pattern without a tag matches every tag.
"""

from __future__ import annotations

import re
from typing import NamedTuple

HUB, LIBRARY = "docker.io", "library"

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_REFERENCE = re.compile(
    rf"(?P<repository>(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_PATTERN = re.compile(r"(?P<repository>[^@\s]+?)(?::(?P<tag>[^:/@\s]+))?(?:@(?P<digest>\S+))?")


class ImageName(NamedTuple):
    repository: str
    """The full name, with the registry."""
    tag: str
    """Empty only for a name with a digest."""
    digest: str = ""

    def __str__(self) -> str:
        return self.repository + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


class PatternWeight(NamedTuple):
    """How specific a pattern is. Of several patterns that match, the one with the highest weight applies."""

    exact: bool
    repository: int
    tagged: bool
    tag: int


class ImagePattern(NamedTuple):
    repository: str
    tag: str
    digest: str = ""

    def matches(self, name: ImageName) -> bool:
        if self.digest and not _glob(self.digest, name.digest):
            return False
        if self.tag and not _glob(self.tag, name.tag):
            return False
        return any(_glob(self.repository, form) for form in _forms(name.repository))

    @property
    def weight(self) -> PatternWeight:
        short = _forms(self.repository)[-1]
        tagged = bool(self.digest) or (bool(self.tag) and not _has_glob(self.tag))
        return PatternWeight(not _has_glob(short), _literal_length(short), tagged, _literal_length(self.tag))


def parse(image: str) -> ImageName:
    """Raises ValueError if the text is not an image name."""
    match = _REFERENCE.fullmatch(image)
    if match is None:
        raise ValueError("invalid reference format")
    tag, digest = match["tag"] or "", match["digest"] or ""
    return ImageName(full_name(match["repository"]), tag or ("" if digest else "latest"), digest)


def parse_pattern(text: str) -> ImagePattern:
    """Raises ValueError if the pattern cannot match any image name."""
    match = _PATTERN.fullmatch(text)
    if match is None or "//" in text:
        raise ValueError(f"{text!r} is not a pattern of image names, such as 'repository:tag' or 'registry/*:*'")
    trial = re.sub(r"[*?]", "a", text)
    if _REFERENCE.fullmatch(trial) is None and not match["digest"]:
        raise ValueError(f"{text!r} is not a pattern of image names, such as 'repository:tag' or 'registry/*:*'")
    return ImagePattern(match["repository"].removeprefix("index."), match["tag"] or "", match["digest"] or "")


def full_name(repository: str) -> str:
    """The repository with its default registry and library, if they are not given."""
    first, slash, rest = repository.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost" or first != first.lower()):
        first, rest = HUB, repository
    if first == f"index.{HUB}":
        first = HUB
    if first == HUB and "/" not in rest:
        rest = f"{LIBRARY}/{rest}"
    return f"{first}/{rest}"


def _forms(repository: str) -> list[str]:
    """All forms of the same repository, the shortest last."""
    forms = [repository]
    for prefix in (f"{HUB}/", f"{LIBRARY}/"):
        if forms[-1].startswith(prefix):
            forms.append(forms[-1].removeprefix(prefix))
    return forms


def _has_glob(text: str) -> bool:
    return "*" in text or "?" in text


def _literal_length(text: str) -> int:
    return len(text.replace("*", ""))


def _glob(pattern: str, text: str) -> bool:
    parts = [re.escape(part).replace(r"\?", ".") for part in pattern.split("*")]
    return re.fullmatch(".*".join(parts), text, re.DOTALL) is not None
