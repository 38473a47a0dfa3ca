"""A console for several users in a real browser: sign-in, a token that expires, rights that are missing."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from tests.console import users
from tests.console_browser import console_process
from tests.console_browser.console_process import Machine
from tests.console_browser.test_accessibility import RULES


@pytest.fixture(scope="module")
def origin(machine: Machine) -> Iterator[str]:
    """`traincrew console` with sign-in."""
    flags = ("--authentication-mode", "token", "--port", "0", "--shutdown-delay", "0")
    with console_process.serving(machine, *flags, end=signal.SIGTERM) as (process, output):
        yield "http://" + console_process.printed(process, output, r"127\.0\.0\.1:\d+")
    assert process.returncode == 0


@contextlib.contextmanager
def visitor(chromium: Browser, origin: str, **options: Any) -> Iterator[Page]:
    """A tab of somebody who is not signed in. Errors of the page fail the test."""
    chosen = {"locale": "en-US", "viewport": {"width": 1400, "height": 900}, **options}
    context = chromium.new_context(base_url=origin, **chosen)
    page, faults = context.new_page(), list[str]()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda sent: None if sent.url.startswith((origin, "data:", "blob:")) else faults.append(sent.url))
    yield page
    context.close()
    assert not faults


def token(machine: Machine, name: str, role: str = "") -> str:
    return users.token_of(machine.data / "kubeconfig", name, role)


def sign_in(page: Page, secret: str) -> None:
    page.get_by_role("textbox", name="Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()


def test_a_viewer_signs_in_sees_who_they_are_and_signs_out(chromium: Browser, machine: Machine, origin: str) -> None:
    secret = token(machine, "ui-viewer", "view")
    with visitor(chromium, origin) as page:
        page.goto("/jobs?status=Running")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        sign_in(page, "wrong")
        expect(page.get_by_role("alert")).to_contain_text("does not accept this token")
        # With the keyboard alone.
        page.get_by_role("textbox", name="Token").fill(secret)
        page.keyboard.press("Enter")
        expect(page.get_by_role("row", name="digits")).to_be_visible(timeout=30_000)
        assert page.url.endswith("/jobs?status=Running")
        assert not [each for each in page.context.cookies() if not each["httpOnly"] or each["sameSite"] != "Strict"]
        assert secret not in page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")
        page.get_by_role("button", name="Signed in as system:serviceaccount:default:ui-viewer").click()
        expect(page.get_by_text("Groups: system:serviceaccounts")).to_be_visible()
        page.get_by_role("menuitem", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_kubeconfig_of_another_cluster_is_refused_and_that_of_this_one_signs_in(
    chromium: Browser, machine: Machine, origin: str
) -> None:
    config = (machine.data / "kubeconfig").read_text()
    with visitor(chromium, origin, locale="zh-CN") as page:
        page.goto("/nodes")
        page.get_by_role("tab", name="Kubeconfig").click()
        page.get_by_label("kubeconfig 的内容").fill(re.sub(r"https?://[^\s\"]+", "https://other.example:6443", config))
        page.get_by_role("button", name="登录").click()
        expect(page.get_by_role("alert")).to_contain_text("https://other.example:6443")
        page.get_by_label("kubeconfig 的内容").fill(config)
        page.get_by_role("button", name="登录").click()
        expect(page.get_by_role("heading", name="节点")).to_be_visible(timeout=30_000)


def test_credentials_that_are_rejected_lead_to_a_sign_in_and_back_to_the_draft(
    chromium: Browser, machine: Machine, origin: str
) -> None:
    secret = token(machine, "ui-former", "edit")
    with visitor(chromium, origin) as page:
        page.goto("/jobs/new?kind=jaxjob")
        sign_in(page, secret)
        name = page.get_by_role("textbox", name="Name", exact=True)
        name.fill("kept-draft")
        expect(page.locator(".cm-content")).to_contain_text("name: kept-draft")
        machine.api.call("DELETE", f"{users.ACCOUNTS}/ui-former")
        name.fill("kept-draft-2")  # the page asks the API server about every change
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible(timeout=90_000)
        expect(page.get_by_role("status")).to_contain_text("drafts are kept")
        assert page.url.endswith("/jobs/new?kind=jaxjob")
        again = users.token_of(machine.data / "kubeconfig", "ui-former")
        sign_in(page, again)
        expect(page.locator(".cm-content")).to_contain_text("name: kept-draft-2", timeout=30_000)
        assert page.url.endswith("/jobs/new?kind=jaxjob")


def test_a_user_without_rights_reads_which_one_is_missing(chromium: Browser, machine: Machine, origin: str) -> None:
    with visitor(chromium, origin) as page:
        page.goto("/jobs/default/pytorchjob/digits")
        sign_in(page, token(machine, "ui-nobody"))
        problem = page.get_by_role("alert")
        expect(problem).to_contain_text("Missing right: get pytorchjobs", timeout=30_000)
        expect(problem).to_contain_text(
            "Ask an administrator for the right to get pytorchjobs.kubeflow.org in namespace default."
        )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_sign_in_is_accessible(chromium: Browser, origin: str, theme: str) -> None:
    with visitor(chromium, origin, color_scheme=theme) as page:
        page.goto("/")
        page.get_by_role("heading", name="Sign in").wait_for()
        for tab in ("Token", "Kubeconfig"):
            page.get_by_role("tab", name=tab).click()
            found = Axe().run(page, options=RULES).response["violations"]
            assert not [(each["id"], each["help"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found]
