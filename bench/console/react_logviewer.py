"""The log view of react-logviewer with the same lines in the same browser, to compare with.

Its packages are in viewers/package.json: neither the page of the console nor its build needs them.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import pathlib
import threading
from collections.abc import Iterator

from playwright.sync_api import Page
from tools.console import node

from bench.console import page_measures

FOLDER = pathlib.Path(__file__).parent / "viewers"
PACKAGE = "@melloware/react-logviewer"
# The list of the viewer is the element that scrolls.
MARK = """() => {
  const all = [...document.querySelectorAll('#root *')].filter((each) => each.scrollHeight > each.clientHeight * 2);
  const found = all.find((each) => ['auto', 'scroll'].includes(getComputedStyle(each).overflowY));
  if (found) found.id = 'scroller';
  return found !== undefined;
}"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextlib.contextmanager
def served(folder: pathlib.Path, lines: int) -> Iterator[str]:
    """The address of the view with so many lines, as the jobs of this benchmark print them."""
    node.install(with_checks=False)
    if not (FOLDER / "node_modules").exists():
        node.run("npm", "ci", "--no-progress", "--loglevel=error", folder=FOLDER)
    node.run("vite", "build", "--logLevel=error", f"--outDir={folder}", "--emptyOutDir=false", folder=FOLDER)
    (folder / "log.txt").write_text("".join(f"step {n} loss {2.3 / (1 + n)}\n" for n in range(lines)) + "all lines\n")
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/?url=/log.txt"
    finally:
        server.shutdown()
        server.server_close()


def measure(page: Page, address: str) -> page_measures.LogView:
    first = page_measures.shown_after(page, address, "#root a, #root .react-lazylog span")
    page_measures.until(lambda: bool(page.evaluate(MARK)))
    found = page_measures.frames(page, "#scroller")
    return page_measures.LogView(first, found["fps"], found["longest"], page_measures.heap(page))
