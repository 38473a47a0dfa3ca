"""TensorBoard in the page. A hostile page in the pod reaches neither the API of the console nor the page around it."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.console import tensorboard_stand_in
from tests.console_browser.console_process import Console, Machine

HOSTILE = """<!doctype html><title>hostile</title><p>the pod serves this</p><script>
const tries = {
  cookie: () => document.cookie || 'nothing',
  token: () => JSON.stringify(parent.localStorage),
  page: () => parent.document.title,
  own: () => { localStorage.setItem('a', 'b'); return localStorage.getItem('a'); },
  read: async () => (await fetch('/api/v1/jobs', { credentials: 'include' })).text(),
  delete: async () => (await fetch('/api/v1/jobs/default/jaxjob/hostile', { method: 'DELETE', credentials: 'include' })).text(),
  simple: async () =>
    (await fetch('/api/v1/jobs', { method: 'POST', mode: 'no-cors', credentials: 'include', body: 'a: 1' })).type,
  session: async () => (await fetch('/api/v1/session', { credentials: 'include' })).text(),
  socket: () => new Promise((done, fail) => {
    const address = location.href.replace(/^http/, 'ws').replace(/[/]view[/].*/, '/api/v1/stream');
    const socket = new WebSocket(address, ['traincrew.v1']);
    socket.onopen = () => done('open'); socket.onerror = () => fail(new Error('refused'));
  }),
  top: async () => { top.location.href = '/nodes'; return 'navigated'; },
  popup: () => window.open('/jobs') === null ? Promise.reject(new Error('blocked')) : 'opened',
  frame: () => new Promise((done, fail) => {
    const frame = document.createElement('iframe'); frame.src = '/jobs'; document.body.append(frame);
    frame.onload = () => { try { done(frame.contentDocument.title); } catch (error) { fail(error); } };
    setTimeout(() => fail(new Error('nothing')), 3000);
  }),
  data: async () => (await fetch('data.txt')).text(),
  worker: () => new Promise((done, fail) => {
    const worker = new Worker('worker.js');
    worker.onmessage = (event) => done(event.data); worker.onerror = () => fail(new Error('no worker'));
  }),
};
(async () => {
  const found = {};
  for (const [name, attempt] of Object.entries(tries)) {
    try { found[name] = 'got ' + await attempt(); } catch (error) { found[name] = 'refused ' + error; }
  }
  window.found = found;
})();
</script>"""


@pytest.fixture
def work(tmp_path: pathlib.Path) -> pathlib.Path:
    tmp_path.chmod(0o755)
    found = tmp_path / "work"
    found.mkdir()
    tensorboard_stand_in.install(found)
    return found


def open_board(page: Page, name: str) -> None:
    page.goto(f"/jobs/default/jaxjob/{name}/tensorboard")
    page.get_by_role("button", name="Start TensorBoard").click()
    page.locator(f"iframe[title='TensorBoard of {name}']").wait_for(timeout=60_000)


@pytest.fixture
def chromium_page(chromium: Browser, console: Console, session: pathlib.Path) -> Iterator[Page]:
    """A signed-in tab in which violations of policies are no faults: the hostile page commits them."""
    context = chromium.new_context(base_url=console.origin, storage_state=session, locale="en-US")
    yield context.new_page()
    context.close()


def test_a_hostile_page_in_the_pod_cannot_call_the_console(
    chromium_page: Page, machine: Machine, console: Console, work: pathlib.Path
) -> None:
    page = chromium_page
    machine.create([tensorboard_stand_in.job("hostile", work)])
    (work / "runs" / "index.html").write_text(HOSTILE)
    (work / "runs" / "data.txt").write_text("its own data")
    (work / "runs" / "worker.js").write_text("postMessage(self.location.origin)")
    open_board(page, "hostile")
    frame = page.frame_locator("iframe").locator("body")
    expect(frame).to_contain_text("the pod serves this")
    inner = next(each for each in page.frames if "/view/" in each.url)
    inner.wait_for_function("window.found !== undefined", timeout=60_000)
    found = inner.evaluate("window.found")
    assert found.pop("data") == "got its own data"
    assert found.pop("worker") == "got null"  # workers have no origin of the console either
    assert found.pop("own") == "got b"  # a storage of its own, which ends with the document
    assert found.pop("cookie") == "got nothing"
    assert {name: result for name, result in found.items() if not result.startswith("refused")} == {}
    assert page.url.endswith("/jobs/default/jaxjob/hostile/tensorboard")
    assert len(page.context.pages) == 1
    assert machine.api.get("jaxjobs", "default", "hostile")["metadata"]["name"] == "hostile"
    page.get_by_role("button", name="Stop TensorBoard").click()
    expect(page.get_by_role("button", name="Start TensorBoard")).to_be_visible()
    machine.api.delete("jaxjobs", "default", "hostile")


def test_the_board_is_gone_with_its_job(page: Page, machine: Machine, work: pathlib.Path) -> None:
    machine.create([tensorboard_stand_in.job("board", work)])
    (work / "runs" / "index.html").write_text("<!doctype html><p>loss 0.1</p>")
    open_board(page, "board")
    expect(page.frame_locator("iframe").locator("body")).to_contain_text("loss 0.1")
    machine.api.delete("jaxjobs", "default", "board")
    expect(page.get_by_text("was deleted", exact=False)).to_be_visible()
    deadline = 60
    while deadline and "board-tensorboard" in machine.api.names("pods", "default"):
        page.wait_for_timeout(500)
        deadline -= 1
    assert "board-tensorboard" not in machine.api.names("pods", "default")
