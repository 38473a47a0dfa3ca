"""What a browser measures of the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from playwright.sync_api import Page

FRAMES = """(seconds) => new Promise((done) => {
  const scroller = document.querySelector(SELECTOR);
  const began = performance.now(); let frames = 0, longest = 0, before = began;
  const step = (now) => {
    frames += 1; longest = Math.max(longest, now - before); before = now;
    const part = (now - began) / (seconds * 1000);
    scroller.scrollTop = (scroller.scrollHeight - scroller.clientHeight) * Math.abs(Math.sin(part * Math.PI));
    part < 1 ? requestAnimationFrame(step) : done({ fps: frames / ((now - began) / 1000), longest });
  };
  requestAnimationFrame(step);
})"""


def frames(page: Page, selector: str, seconds: float = 5.0) -> dict[str, float]:
    """Frames a second, and the longest frame in ms, while the list is scrolled from one end to the other and back."""
    found: dict[str, float] = page.evaluate(FRAMES.replace("SELECTOR", repr(selector)), seconds)
    return found


def first_paint(page: Page, path: str) -> float:
    """First contentful paint in ms, with an empty cache."""
    page.goto(path)
    page.locator("h1").first.wait_for()
    script = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
    return float(page.evaluate(script))


def heap(page: Page) -> int:
    """Bytes of the JavaScript heap, after a garbage collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    found: dict[str, Any] = session.send("Runtime.getHeapUsage")
    return int(found["usedSize"])


class LogView(NamedTuple):
    """What a view of a log costs."""

    first: float
    """ms until the first line is on the screen."""
    fps: float
    longest: float
    heap: int

    def __str__(self) -> str:
        return (
            f"first lines {self.first:.0f} ms, {self.fps:.0f} frames/s, longest {self.longest:.0f} ms, "
            f"heap {self.heap / 1e6:.0f} MB"
        )


def shown_after(page: Page, address: str, selector: str) -> float:
    """ms from the request of the page until an element is there, as the clock of the page has it."""
    page.goto(address)
    page.locator(selector).first.wait_for(state="attached")
    return float(page.evaluate("performance.now()"))


DELAYS = """(count) => new Promise((done) => {
  const seen = new Set(), delays = [];
  const look = () => {
    for (const row of document.querySelectorAll('[role=log] .log-row')) {
      const found = /written ([0-9.]+)/.exec(row.textContent ?? '');
      if (found && !seen.has(found[1])) {
        seen.add(found[1]);
        delays.push(Date.now() - Number(found[1]) * 1000);
      }
    }
    delays.length >= count ? done(delays) : requestAnimationFrame(look);
  };
  look();
})"""


def line_delays(page: Page, count: int) -> list[float]:
    """ms from the time that a line has in its text to the frame that shows it. Lines of before are ignored."""
    found: list[float] = page.evaluate(DELAYS, count + 200)
    return sorted(found[-count:])


def until(claim: Callable[[], bool], seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < deadline, "the page does not get there"
        time.sleep(0.2)
