"""What nobody should print, and what others do to a job while its page is open: nothing breaks, nothing is executed."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect
from tests.console_browser.console_process import Machine
from tests.console_browser.jax_jobs import jax_job

ATTACK = "<img src=x onerror=\"document.title='attacked'\">"
DESCRIPTION = "traincrew.kubeflow.org/description"
HOSTILE = rf"""
cat <<'END'
{ATTACK}
END
printf '\033[2J\033]0;title\007\033[31mred\033[0m\n'
printf '\000\001\377\376 binary\n'
i=0; while [ $i -lt 2000 ]; do printf '\033[38;5;%sm\033[4m\033[7m' $i; i=$((i+1)); done; echo bomb
head -c 10485760 /dev/zero | tr '\0' x; echo
printf 'a\rb\rdone\n'
echo 'loss={ATTACK}'
echo the last line
sleep 1000
"""


def test_hostile_output_and_names_are_text_and_the_page_goes_on(page: Page, machine: Machine) -> None:
    document = jax_job("hostile", ["sh", "-c", HOSTILE])
    document["metadata"]["annotations"] = {DESCRIPTION: ATTACK}
    machine.create([document])
    page.goto("/jobs?q=hostile")
    expect(page.get_by_role("row", name="hostile")).to_contain_text(ATTACK)
    page.goto("/jobs/default/jaxjob/hostile/logs")
    log = page.get_by_role("log")
    expect(log).to_contain_text("the last line", timeout=60_000)
    expect(log).to_contain_text(ATTACK)
    expect(log).to_contain_text("binary")
    expect(log.locator(".log-text", has_text="bomb")).to_have_text("bomb")
    expect(log.locator(".log-text", has_text="done")).to_have_text("done")
    page.get_by_role("switch", name="Wrap").check()
    expect(log).to_contain_text("the last line")
    for tab in ("Overview", "Metrics", "YAML"):
        page.get_by_role("link", name=re.compile(f"^{tab}")).click()
        expect(page.get_by_role("heading", name="hostile")).to_be_visible()
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "attacked"
    machine.api.delete("jaxjobs", "default", "hostile")


def test_a_job_that_is_deleted_in_another_window_says_so_and_shows_its_last_state(page: Page, machine: Machine) -> None:
    machine.create([jax_job("removed", ["sh", "-c", "echo here; sleep 1000"])])
    page.goto("/jobs/default/jaxjob/removed/logs")
    expect(page.get_by_role("log")).to_contain_text("here", timeout=60_000)
    machine.api.delete("jaxjobs", "default", "removed")
    note = page.get_by_role("status").filter(has_text="deleted")
    expect(note).to_be_visible(timeout=60_000)
    expect(page.get_by_role("heading", name="removed")).to_be_visible()
    expect(note.get_by_role("link").first).to_have_attribute("href", re.compile("/jobs$"))
