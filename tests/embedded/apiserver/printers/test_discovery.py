from tests.embedded.apiserver.printers.crd_resources import all_resources

from traincrew.embedded.apiserver.discovery import aggregated, documents, version_priority


def test_stable_versions_come_first_and_other_names_last() -> None:
    odd = ["v1beta1", "foo1", "v2", "v10", "v1alpha2", "v1", "v3beta1", "bar", "v2beta2", "foo10"]
    assert version_priority.versions(odd) == [
        "v10",
        "v2",
        "v1",
        "v3beta1",
        "v2beta2",
        "v1beta1",
        "v1alpha2",
        "bar",
        "foo1",
        "foo10",
    ]


def test_groups_have_the_order_of_kube_apiserver() -> None:
    groups = [group["name"] for group in documents.group_list(all_resources())["groups"]]
    assert groups[:3] == ["apps", "events.k8s.io", "authentication.k8s.io"]
    assert groups[-1] == "kubeflow.org"


def test_a_group_prefers_its_best_version() -> None:
    group = documents.group(all_resources(), "kubeflow.org")
    assert group is not None
    assert [version["version"] for version in group["versions"]] == ["v1", "v2beta1"]
    assert group["preferredVersion"]["groupVersion"] == "kubeflow.org/v1"


def test_unserved_versions_are_not_found() -> None:
    assert documents.group(all_resources(), "nobody.example") is None
    assert documents.group(all_resources(), "") is None
    assert documents.resource_list(all_resources(), "apps", "v2") is None


def test_subresources_are_listed_with_the_kinds_of_their_bodies() -> None:
    pods = documents.resource_list(all_resources(), "", "v1")
    assert pods is not None
    entries = {entry["name"]: entry for entry in pods["resources"]}
    eviction = entries["pods/eviction"]
    assert (eviction["group"], eviction["version"], eviction["kind"]) == ("policy", "v1", "Eviction")
    assert "group" not in entries["pods/status"]
    assert entries["pods"]["shortNames"] == ["po"]


def test_aggregated_discovery_lists_the_same_resources() -> None:
    for group in aggregated.groups(all_resources())["items"]:
        for version in group["versions"]:
            listed = documents.resource_list(all_resources(), group["metadata"]["name"], version["version"])
            assert listed is not None
            names = [entry["name"] for entry in listed["resources"]]
            listed_names = [name for entry in version["resources"] for name in _names(entry)]
            assert listed_names == names


def _names(entry: dict[str, object]) -> list[str]:
    parts = entry.get("subresources", [])
    assert isinstance(parts, list)
    return [str(entry["resource"]), *(f"{entry['resource']}/{part['subresource']}" for part in parts)]


def test_an_etag_changes_with_the_document() -> None:
    assert aggregated.etag(b"a") != aggregated.etag(b"b")
    assert aggregated.etag(b"a").startswith('"')
