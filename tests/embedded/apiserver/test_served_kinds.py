"""docs/served-kinds.md lists the kinds that are served and the admission plugins that run."""

from __future__ import annotations

import pathlib
import re
from typing import NamedTuple

from traincrew.embedded.apiserver.admission import chain
from traincrew.embedded.apiserver.endpoints import metrics_api
from traincrew.embedded.apiserver.registry import unmanaged_kinds
from traincrew.embedded.apiserver.schema import builtin_kinds

PAGE = (pathlib.Path(__file__).parents[3] / "docs" / "served-kinds.md").read_text()


class ServedKindRow(NamedTuple):
    kind: str
    api_version: str
    served: str
    component: str
    remarks: str


def rows() -> list[ServedKindRow]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")][1:]
    return [ServedKindRow(*(cell.strip() for cell in line[1:].removesuffix("|").split("|"))) for line in lines]


def test_the_table_has_every_served_kind_and_no_other() -> None:
    served = {(each.kind, each.api_version) for each in (*builtin_kinds.load().resources(), *metrics_api.RESOURCES)}
    assert {(row.kind, row.api_version) for row in rows() if row.served != "no"} == served
    assert not served & {(row.kind, row.api_version) for row in rows() if row.served == "no"}


def test_stored_kinds_can_be_listed_and_deleted_and_reviews_only_created() -> None:
    by_kind = {(each.kind, each.api_version): each for each in (*builtin_kinds.load().resources(), *metrics_api.RESOURCES)}
    for row in rows():
        if row.served == "stored":
            assert {"create", "list", "watch", "delete"} <= set(by_kind[row.kind, row.api_version].verbs), row
        if row.served == "answered":
            assert not {"update", "patch", "delete"} & set(by_kind[row.kind, row.api_version].verbs), row


def test_each_kind_is_listed_once_with_the_components_that_act_on_it() -> None:
    assert len({(row.kind, row.api_version) for row in rows()}) == len(rows())
    assert all(row.component for row in rows() if row.served != "no")
    assert all(row.remarks for row in rows() if row.component == "nothing")


def test_the_kinds_that_nothing_acts_on_are_those_with_a_warning() -> None:
    idle = {(row.api_version.rpartition("/")[0], row.kind) for row in rows() if row.component == "nothing"}
    assert idle == set(unmanaged_kinds.EFFECTS)


def test_the_page_names_the_admission_plugins_in_their_order() -> None:
    (listed,) = re.findall(r"In the order of kube-apiserver: (.*?)\.\n", PAGE, re.DOTALL)
    assert listed.replace("\n", " ").split(", ") == [plugin.name for plugin in chain.PLUGINS]
