"""Malformed bodies: not objects, of another kind, or with unusual content."""

from __future__ import annotations

from collections.abc import Iterator

JSON, YAML = "application/json", "application/yaml"

HARDLY_JSON = (
    b"", b"[]", b'"x"', b"5", b"{", b'{"a":', b"\xff\xfe", b"x" * 40, b"<xml>", b"k8s\x00abc", b"tru", b"nul", b"-", b"1.", b"1e",
    b"01", b'{"kind":5}', b'{"apiVersion":["v1"]}', b'{"apiVersion":"a/b/c","kind":"X"}', b'{"a":' * 10_001,
)  # fmt: skip
"""Rejected for every expected kind."""
BROKEN = (b"}", b',}', b',"a":tru}', b',"a":"\x01"}', b',"a":"\\x"}', b',"a":"\\u12x4"}', b',"a":01}', b',"a":1.}', b',"a":-}',
          b',"a":[1,]}', b',"a":[1 2]}', b',"a" 1}', b',a:1}', b',"a":1} x', b',"a":1e+}', b',"a":"')  # fmt: skip
"""Appended to apiVersion and kind."""
ODD = (
    b',"metadata":{"name":"a"},"metadata":{"labels":{"a":"b"}}', b',"metadata":{"name":"a","name":"b"}',
    b',"metadata":{"name":"a","labels":{"x":"1","x":"2"}}', b',"metadata":{"name":"a","foo":1,"foo":2},"bar":1,"aaa":{"x":1}',
    b',"metadata":5', b',"metadata":[]', b',"metadata":{"name":5}', b',"metadata":{"name":"a","labels":{"a":1}}',
    b',"metadata":{"name":"a","creationTimestamp":"x"}', b',"metadata":{"name":"a","deletionTimestamp":""}',
    b',"metadata":{"name":"a","ownerReferences":[{"x":1},{"controller":"x"}]}', b',"metadata":{"name":"a\xff"}',
    b',"metadata":{"name":"a","annotations":{"x":"\\ud800"}}', b',"metadata":{"name":"a","annotations":{"a\\"b":"\\":"}}',
    b',"metadata":{"name":"a","generation":1.5}', b',"metadata":{"name":"a","generation":99999999999999999999}',
    b',"metadata":{"name":"a","managedFields":[{"x":1,"time":"2020-01-01T00:00:00Z"}]}', b',"unknown":{"b":1,"b":2}',
    b',"metadata":{"name":"a","labels":null,"annotations":{"a":null},"finalizers":[null]}', b',"Metadata":{}', b',"Spec":{}',
)  # fmt: skip
"""Inserted between the type meta and the end of an object."""
TITLES = (
    b'{"apiVersion":"v2","kind":"Pod"}', b'{"apiVersion":"apps/v1","kind":"Pod"}', b'{"apiVersion":"v1","kind":"Nope"}',
    b'{"apiVersion":"apps/v1","kind":"Deployment"}', b'{"apiVersion":"v1","kind":"Status"}', b'{"apiVersion":"v1","kind":"pod"}',
    b'{"apiVersion":"v1","kind":"Pod\xff"}', b'{"apiVersion":"v1","kind":"PodList","items":[]}', b'{"Kind":"x","apiVersion":"z"}',
)  # fmt: skip
IN_YAML = (
    "", "[1, 2]", "foo", "\t", "a: [", "a: *x", "a: .inf", "a: b\n c", 'a: "\\x"', "a: x\x01",
    "metadata: {name: a}\nfoo: 1\nfoo: 2\nbar: 3", "metadata:\n  name: a\n  name: b", "metadata: {name: 5}",
    "metadata: {name: yes}",
    "metadata: {name: a, labels: {a: 1}}", "metadata: {name: a, annotations: {a: ~}}", "metadata: {name: a}\n---\nfoo: 1",
)  # fmt: skip


def malformed(kind: str, api_version: str) -> Iterator[tuple[str, bytes]]:
    """Content type and body."""
    title = f'"apiVersion":"{api_version}","kind":"{kind}"'.encode()
    for body in (*HARDLY_JSON, *TITLES):
        yield JSON, body
    for rest in BROKEN:
        yield JSON, b"{" + title + rest
    for odd in ODD:
        yield JSON, b"{" + title + odd + b"}"
    for text in IN_YAML:
        yield YAML, (f"apiVersion: {api_version}\nkind: {kind}\n{text}\n" if ":" in text else text).encode()
