from typing import Any

import pytest

from traincrew.apimachinery import jsonpath

CONDITIONS = [{"type": "Ready", "status": "True", "n": 1}, {"type": "Done", "status": "False", "n": 2}, {"other": 1}]
OBJECT: dict[str, Any] = {
    "spec": {"replicas": 3, "list": [10, 20, 30], "none": None, "a.b": {"c/d": "dotted"}, "empty": []},
    "status": {"conditions": CONDITIONS},
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.replicas", 3),
        ("$.spec.replicas", 3),
        (".spec['replicas']", 3),
        (r".spec.a\.b.c/d", "dotted"),
        (".spec.list[0]", 10),
        (".spec.list[-1]", 30),
        (".spec.list[1:]", 20),
        (".spec.list[-2:]", 20),
        (".spec.list[:1]", 10),
        (".spec.list[*]", 10),
        (".spec.list[2,0]", 30),
        (".status.conditions[?(@.type=='Ready')].status", "True"),
        ('.status.conditions[?(@.type == "Done")].status', "False"),
        (".status.conditions[?(@.n>1)].type", "Done"),
        (".status.conditions[?(@.n<=1)].type", "Ready"),
        (".status.conditions[?(@.other)].other", 1),
        ("..replicas", 3),
        (".spec.none", None),
    ],
)
def test_paths_select_values(path: str, expected: Any) -> None:
    assert jsonpath.parse(path).first(OBJECT) == (True, expected)


@pytest.mark.parametrize(
    "path",
    [
        ".spec.missing", ".missing.too", ".spec.replicas.deeper", ".spec.list[3]", ".spec.list[-4]", ".spec.replicas[0]",
        ".spec.empty[0]", ".spec.none.x", ".status.conditions[?(@.type=='Other')].status", ".spec[?(@.a==1)]",
        ".status.conditions[?(@.type==5)].status", ".spec.list[1:1]",
    ],
)  # fmt: skip
def test_paths_may_select_nothing(path: str) -> None:
    assert jsonpath.parse(path).first(OBJECT) == (False, None)


@pytest.mark.parametrize("path", ["spec", ".spec[", ".spec[x]", ".spec[]", ".spec.{a}", "..[?(", ".a[?(@.b=~1)]"])
def test_malformed_texts_are_not_paths(path: str) -> None:
    with pytest.raises(jsonpath.JSONPathError):
        jsonpath.parse(path)
