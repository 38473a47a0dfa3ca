"""Templates: built in, saved in the browser, from a job, from a file."""

from __future__ import annotations

import pathlib

from playwright.sync_api import Page, expect
from tests.console_browser.test_new_job import yaml_of


def test_the_benchmark_of_the_seed_document_is_a_template(page: Page) -> None:
    page.goto("/templates")
    page.get_by_role("link", name="Use tensorflow-benchmarks").click()
    expect(page.get_by_role("textbox", name="Name")).to_have_value("tensorflow-benchmarks")
    expect(page.get_by_text("-np 2 uses all 2 slots of the workers.")).to_be_visible()
    expect(page.get_by_role("textbox", name="nvidia.com/gpumem")).to_have_value("1k")
    expect(page.get_by_text("The API server accepts the job.")).to_be_visible()


def test_a_job_is_saved_as_a_template_and_used(page: Page) -> None:
    page.goto("/jobs/new?from=default/tfjob/evaluate")
    page.get_by_role("button", name="Save as template").click()
    page.get_by_role("textbox", name="Name of the template").fill("my evaluation")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="Templates").click()
    page.get_by_role("link", name="Use my evaluation").click()
    expect(yaml_of(page)).to_contain_text("accuracy 0.97")
    page.goto("/templates")
    page.get_by_role("button", name="Remove my evaluation").click()
    expect(page.get_by_role("link", name="Use my evaluation")).to_have_count(0)


MINE = "# {comment}\napiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {{name: {name}}}\nspec: {{}}\n"


def open_file(page: Page, file: pathlib.Path) -> None:
    page.goto("/templates")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").click()
    chooser.value.set_files(file)


def test_a_file_becomes_a_template(page: Page, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE.format(comment="mine", name="from-file"))
    open_file(page, file)
    expect(page.get_by_role("textbox", name="Name")).to_have_value("from-file")
    expect(yaml_of(page)).to_contain_text("# mine")


def test_a_file_never_replaces_a_template_unasked_and_is_shown_as_it_is(page: Page, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "train.yaml"
    file.write_text(MINE.format(comment="first", name="first"))
    open_file(page, file)
    page.get_by_role("textbox", name="Name").fill("drafted")
    expect(yaml_of(page)).to_contain_text("drafted")
    file.write_text(MINE.format(comment="second", name="second"))
    open_file(page, file)
    dialog = page.get_by_role("dialog", name="Replace the template train?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").click()
    chooser.value.set_files(file)
    dialog.get_by_role("button", name="Replace").click()
    expect(page.get_by_role("textbox", name="Name")).to_have_value("second")
    file.write_text(MINE.format(comment="third", name="third"))
    open_file(page, file)
    dialog.get_by_role("button", name="Keep both").click()
    expect(page.get_by_role("textbox", name="Name")).to_have_value("third")
    page.goto("/templates")
    expect(page.get_by_role("link", name="Use train", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Use train-2")).to_be_visible()
