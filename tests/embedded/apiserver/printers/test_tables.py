import datetime
import json
from typing import Any

import msgspec
import pytest
from tests.embedded.apiserver.printers.crd_resources import all_resources, crd, served_of

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.printers import partial_metadata, tables

NOW = datetime.datetime(2024, 6, 1, 12, tzinfo=datetime.UTC)
METADATA = {"name": "x", "creationTimestamp": "2024-06-01T11:59:00Z", "resourceVersion": "7"}


def served(kind: str, group: str = "") -> ResourceInfo:
    return next(each for each in all_resources() if (each.group, each.kind) == (group, kind))


def row(served: ResourceInfo, kept: Object) -> dict[str, Any]:
    """The cells by column name. Bytes and decoded objects yield the same cells."""
    rows = [
        tables.table(served, [given], include="None", now=NOW, list_metadata={}) for given in (kept, json.dumps(kept).encode())
    ]
    assert rows[0] == rows[1]
    names = [head["name"] for head in rows[0]["columnDefinitions"]]
    return dict(zip(names, rows[0]["rows"][0]["cells"], strict=True))


def test_a_bare_object_has_a_row_in_every_table() -> None:
    for each in all_resources():
        cells = row(each, {"metadata": METADATA})
        assert "x" in cells.values()
        assert len(cells) > 1


def test_nulls_count_as_missing() -> None:
    kept = {"metadata": METADATA | {"labels": None}, "spec": {"containers": None}, "status": {"conditions": None, "podIPs": None}}
    assert row(served("Pod"), kept) == row(served("Pod"), {"metadata": METADATA})


def test_a_restarted_pod_shows_the_time_of_its_last_restart() -> None:
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2024-06-01T11:55:00Z"}}
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    statuses = [{"name": "a", "restartCount": 3, "state": waiting, "lastState": ended}]
    kept = {"metadata": METADATA, "spec": {"containers": [{"name": "a"}]}, "status": {"containerStatuses": statuses}}
    cells = row(served("Pod"), kept)
    assert (cells["Status"], cells["Restarts"], cells["Ready"], cells["Age"]) == ("CrashLoopBackOff", "3 (5m ago)", "0/1", "60s")


def test_the_row_of_a_finished_pod_is_marked_as_completed() -> None:
    kept = {"metadata": METADATA, "status": {"phase": "Succeeded"}}
    table = tables.table(served("Pod"), [kept], include="None", now=NOW, list_metadata={})
    (condition,) = table["rows"][0]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Completed", "Succeeded")


def test_a_finished_job_shows_its_duration() -> None:
    times = {"startTime": "2024-06-01T10:00:00Z", "completionTime": "2024-06-01T10:05:30Z"}
    kept = {"metadata": METADATA, "spec": {"completions": 2}, "status": times | {"succeeded": 2}}
    cells = row(served("Job", "batch"), kept)
    assert (cells["Duration"], cells["Completions"]) == ("5m30s", "2/2")


def test_an_autoscaler_of_the_older_version_is_printed_like_the_newer() -> None:
    spec = {"scaleTargetRef": {"kind": "JAXJob", "name": "j"}, "maxReplicas": 3, "targetCPUUtilizationPercentage": 80}
    kept = {"metadata": METADATA, "spec": spec, "status": {"currentCPUUtilizationPercentage": 12}}
    assert row(served("HorizontalPodAutoscaler", "autoscaling"), kept)["Targets"] == "cpu: 12%/80%"


def test_events_are_printed_alike_in_both_groups() -> None:
    old = {
        "involvedObject": {"kind": "Pod", "name": "p"}, "message": "m", "reason": "R", "type": "Normal", "count": 2,
        "firstTimestamp": "2024-06-01T11:00:00Z", "lastTimestamp": "2024-06-01T11:30:00Z", "source": {"component": "c"},
    }  # fmt: skip
    new = {
        "regarding": {"kind": "Pod", "name": "p"}, "note": "m", "reason": "R", "type": "Normal", "deprecatedCount": 2,
        "deprecatedFirstTimestamp": "2024-06-01T11:00:00Z", "deprecatedLastTimestamp": "2024-06-01T11:30:00Z",
        "deprecatedSource": {"component": "c"},
    }  # fmt: skip
    core, other = served("Event"), served("Event", "events.k8s.io")
    assert row(core, {"metadata": METADATA, **old}) == row(other, {"metadata": METADATA, **new})


def test_a_scale_has_its_own_table() -> None:
    scale = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": METADATA,
        "spec": {"replicas": 3},
        "status": {"replicas": 2},
    }
    for each in (served("Deployment", "apps"), *served_of(crd("Widget"))):
        assert row(tables.scaled(each), scale) == {"Name": "x", "Desired": 3, "Available": 2, "Age": "60s"}


def test_rows_include_the_requested_object() -> None:
    kept = {"kind": "Pod", "apiVersion": "v1", "metadata": METADATA}
    for given in (kept, json.dumps(kept).encode()):
        for include, shown in (("None", None), ("Object", kept), ("Metadata", partial_metadata.object_metadata(kept))):
            table = tables.table(served("Pod"), [given], include=include, now=NOW, list_metadata={})
            assert json.loads(msgspec.json.encode(table))["rows"][0]["object"] == shown


def test_an_unknown_media_type_is_rejected() -> None:
    with pytest.raises(StatusError, match="must be 'Metadata', 'Object', 'None', or empty"):
        tables.table(served("Pod"), [], include="All", now=NOW, list_metadata={})


def test_the_table_of_one_object_has_its_version() -> None:
    for given in ({"metadata": METADATA}, json.dumps({"metadata": METADATA}).encode()):
        table = tables.table(served("Pod"), [given], include="Metadata", now=NOW, version="v1beta1")
        assert table["metadata"] == {"resourceVersion": "7"}
        assert table["apiVersion"] == table["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


COLUMNS = [
    ("string", "text"), ("string", "number"), ("string", "object"), ("string", "flag"), ("string", "missing"),
    ("integer", "number"), ("integer", "fraction"), ("integer", "text"), ("number", "number"), ("number", "flag"),
    ("boolean", "flag"), ("boolean", "text"), ("date", "time"), ("date", "text"), ("date", "number"), ("date", "missing"),
]  # fmt: skip
VALUES = {
    "text": "t",
    "number": 3,
    "fraction": 2.9,
    "flag": True,
    "object": {"b": "<&>", "a": [1]},
    "time": "2024-06-01T11:00:00Z",
}


def test_columns_of_custom_resources_are_read_by_path_and_type() -> None:
    columns = [{"name": f"c{index}", "type": type, "jsonPath": f".spec.{name}"} for index, (type, name) in enumerate(COLUMNS)]
    (widgets,) = served_of(crd("Widget", columns))
    assert list(row(widgets, {"metadata": METADATA, "spec": VALUES}).values()) == [
        "x", "t", "3", '{"a":[1],"b":"\\u003c\\u0026\\u003e"}', "true", None,
        3, 2, None, 3.0, None, True, None, "60m", "<invalid>", None, None,
    ]  # fmt: skip


def test_custom_resources_without_columns_show_their_age() -> None:
    (widgets,) = served_of(crd("Widget"))
    assert row(widgets, {"metadata": METADATA}) == {"Name": "x", "Age": "60s"}


def test_columns_end_before_an_invalid_path() -> None:
    columns = [{"name": name, "type": "string", "jsonPath": path} for name, path in (("a", ".a"), ("b", ".b["), ("c", ".c"))]
    (widgets,) = served_of(crd("Widget", columns))
    assert row(widgets, {"metadata": METADATA, "a": "1", "c": "3"}) == {"Name": "x", "a": "1"}


def test_lists_of_metadata_keep_nothing_else() -> None:
    kept = {"kind": "Pod", "apiVersion": "v1", "metadata": METADATA, "spec": {"secret": 1}}
    metadata_list = partial_metadata.metadata_list(
        served("Pod"), [kept, json.dumps(kept).encode()], "v1", {"resourceVersion": "9"}
    )
    listed = json.loads(msgspec.json.encode(metadata_list))
    assert listed["metadata"] == {"resourceVersion": "9"}
    assert [item["metadata"] for item in listed["items"]] == [METADATA, METADATA]
    assert all(item.keys() == {"kind", "apiVersion", "metadata"} for item in listed["items"])


def test_metadata_of_the_wrong_number_is_rejected() -> None:
    (widgets,) = served_of(crd("Widget"))
    assert partial_metadata.a_list(served("Pod")).message.endswith("is a list (*core.PodList)")
    assert partial_metadata.a_list(widgets).message.endswith("is a list (*unstructured.UnstructuredList)")
    assert partial_metadata.not_a_list(served("Event", "events.k8s.io")).message.endswith("is not a list (*core.Event)")
