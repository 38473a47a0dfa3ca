"""The log view of react-logviewer with the same lines in a browser of its own, to compare with.

`python -m bench.console.react_logviewer LINES` prints one measurement. Its packages are in viewers/package.json: neither the page
of the console nor its build needs them.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator

from playwright.sync_api import Error, Page, sync_playwright
from tests.console_browser import console_process
from tools.console import node

from bench.console import page_measures

FOLDER = pathlib.Path(__file__).parent / "viewers"
PACKAGE = "@melloware/react-logviewer"
MAX_SECONDS = 240.0
"""For one measurement. A page whose script is busy answers nothing, not even that it will not end."""
CRASHED = 3
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


def _install() -> None:
    node.install(with_checks=False)
    if not (FOLDER / "node_modules").exists():
        node.run("npm", "ci", "--no-progress", "--loglevel=error", folder=FOLDER)


@contextlib.contextmanager
def served(folder: pathlib.Path, lines: int) -> Iterator[str]:
    """The address of the view with so many lines, as the jobs of this benchmark print them."""
    _install()
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


def in_limited_time(lines: int) -> str:
    """A measurement in processes of its own, or that there is none."""
    _install()
    command = [sys.executable, "-m", "bench.console.react_logviewer", str(lines)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=MAX_SECONDS)
    except subprocess.TimeoutExpired:
        return f"does not finish within {MAX_SECONDS:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the browser, too
        process.wait()
    if process.returncode == CRASHED:
        return "does not finish: its page runs out of memory"
    if process.returncode != 0:
        raise SystemExit(f"the measurement has ended with {process.returncode}")
    return output.strip()


def main() -> None:
    lines = int(sys.argv[1])
    with (
        tempfile.TemporaryDirectory(prefix="bench-viewer-") as folder,
        served(pathlib.Path(folder), lines) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=console_process.chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(MAX_SECONDS * 1000)
        try:
            print(measure(page, address))
        except Error as error:
            if "crashed" not in error.message:
                raise
            sys.exit(CRASHED)
        browser.close()


if __name__ == "__main__":
    main()
