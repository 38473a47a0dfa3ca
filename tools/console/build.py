"""Builds the page of the console from web/ into src/traincrew/console/page/, each asset also compressed.

The server sends the compressed file to browsers that accept it. In index.html it replaces __CSP_NONCE__ by the nonce of the
Content-Security-Policy.
"""

from __future__ import annotations

import gzip
import hashlib
import pathlib
import re
import subprocess

from tools.console import node

PAGE = node.WEB.parent / "src/traincrew/console/page"
COMPRESSED = {".js", ".css", ".svg"}
STAMP = ".source"
"""The digest of the sources that the page was built from. A second build of the same sources does nothing."""


def source_digest() -> str:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "."]
    listed = subprocess.run(command, cwd=node.WEB, capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines() if listed.returncode == 0 else _files_without_git()
    digest = hashlib.sha256()
    for name in sorted(names):
        file = node.WEB / name
        if file.is_file():
            digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _files_without_git() -> list[str]:
    return [
        str(each.relative_to(node.WEB))
        for each in node.WEB.rglob("*")
        if each.is_file() and "node_modules" not in each.relative_to(node.WEB).parts
    ]


def compress(page: pathlib.Path) -> int:
    """Writes FILE.gz beside each asset. The same input gives the same bytes. Returns the bytes of all compressed files."""
    total = 0
    for each in sorted(page.rglob("*")):
        if each.suffix in COMPRESSED:
            data = gzip.compress(each.read_bytes(), 9, mtime=0)
            each.with_name(each.name + ".gz").write_bytes(data)
            total += len(data)
    return total


def initial(page: pathlib.Path) -> int:
    """Compressed bytes that a browser loads before it shows the first page: what index.html names."""
    named = re.findall(r'(?:src|href)="\./([^"]+\.(?:js|css|svg))"', (page / "index.html").read_text())
    return sum((page / f"{each}.gz").stat().st_size for each in set(named))


def main() -> None:
    digest = source_digest()
    stamp = PAGE / STAMP
    if stamp.exists() and stamp.read_text() == digest:
        print("The page of the console is current.")
        return
    node.install(with_checks=False)
    node.run("tsc", "--noEmit")
    node.run("vite", "build", "--logLevel", "warn")
    total = compress(PAGE)
    stamp.write_text(digest)
    print(
        f"The page of the console is in {PAGE.relative_to(node.WEB.parent)}: {total / 1000:.0f} kB compressed, "
        f"of which {initial(PAGE) / 1000:.0f} kB are loaded first."
    )


if __name__ == "__main__":
    main()
