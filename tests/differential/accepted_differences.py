"""The accepted differences, each with its reason. A pattern that matches no difference fails the suite."""

from __future__ import annotations

import dataclasses
import re

from tests.differential.comparison import Difference


@dataclasses.dataclass(frozen=True)
class Accepted:
    """Regular expressions, each of which must match the whole of its part."""

    reason: str
    case: str = ".*"
    request: str = ".*"
    path: str = ".*"
    real: str = ".*"
    ours: str = ".*"

    def covers(self, found: Difference) -> bool:
        parts = ("case", "request", "path", "real", "ours")
        return all(re.fullmatch(getattr(self, part), getattr(found, part), re.DOTALL) for part in parts)


ACCEPTED = (
    Accepted(
        "Nobody is let in without credentials: there is no user system:anonymous, so the answer is 401 instead of 403.",
        case="who_is_nobody",
        real="403 Forbidden .*system:anonymous.*",
        ours="401 Unauthorized.*",
    ),
    Accepted(
        "Ownership of fields is kept from an object's first apply on: what was written before belongs to `before-first-apply`.",
        case="the_first_apply_to_what_was_created",
        real='.*"?creator"?.*',
        ours='.*"?before-first-apply"?.*',
    ),
    Accepted(
        "A CustomResourceDefinition is established by the request that makes it: its names are judged at once, so that the next "
        "request may use it. A real API server answers with an empty status and fills it in a moment later.",
        request="(POST|PATCH|PUT) /apis/apiextensions.k8s.io/v1/customresourcedefinitions.*",
        path=r"body\.status\.(acceptedNames\..*|conditions.*)",
    ),
    Accepted(
        "For the same reason it is written once, and not twice.",
        request="(GET|DELETE) /apis/apiextensions.k8s.io/v1/customresourcedefinitions/.*",
        path=r"body\.metadata\.resourceVersion",
    ),
    Accepted(
        "Validation rules in CEL that do not compile are accepted, with a warning that they are not enforced: the library that "
        "compiles them knows less of CEL than the Kubernetes of tomorrow, and a definition must not be lost over that.",
        case="definitions_that_are_invalid",
        real=r"422 Invalid .*x-kubernetes-validations.*",
        ours="201",
    ),
    Accepted(
        "The same version named twice: that the first of the two is not stored is not told beside the fault itself.",
        case="definitions_that_are_invalid",
        path=r"body\.(details\.causes|message)",
        real=".*CustomResourceDefinitionVersion.*",
    ),
    Accepted(
        "An enumeration of nothing in a definition's schema is shown as it was written.",
        case="definitions_that_are_invalid",
        path=r".*\.enum",
        real=r"\(absent\)",
        ours=r"\[\]",
    ),
    Accepted(
        "A resourceVersion that is no number is the client's fault: 400, where a real API server speaks of a fault of its own.",
        real="500 resourceVersion: Invalid value: .*",
        ours="400 BadRequest resourceVersion: Invalid value: .*",
    ),
    Accepted(
        "A list of exactly a revision that is still to come is refused as every other read of one is (504), where a real API "
        "server hands on what etcd says (500).",
        case="revisions_and_how_they_match",
        real="500 etcdserver: .*future revision",
        ours="504 Timeout .*",
    ),
    Accepted(
        "A watch that asks for PartialObjectMetadataList is shown PartialObjectMetadata; a real API server ends it at the first "
        "event, without a word.",
        case="tables_are_watched",
        path="events",
        real=r"\[\]",
    ),
    Accepted(
        "Nothing is answered as protobuf: whoever accepts nothing else is refused in JSON.",
        case="forms_of_a_custom_resource",
        real='"(k8s|application/vnd.kubernetes.protobuf).*',
    ),
    Accepted(
        "Protobuf for a custom resource is refused (415); a real API server breaks off the connection.",
        case="forms_of_a_custom_resource",
        real="0 no response.*",
        ours="415 UnsupportedMediaType.*",
    ),
    Accepted(
        "A method that HTTP does not know is refused before the path is looked at.",
        case="methods_that_are_not_allowed",
        request="NONSENSE .*",
        real="405 .*",
        ours="400 .*",
    ),
    Accepted(
        "The OpenAPI v2 document has what clients read in it, definitions and paths, but no shared parameters and no security "
        "definitions.",
        case="what_is_there_beside_resources",
        request="GET /openapi/v2",
        path="body",
    ),
    Accepted(
        "What has changed in a spec that may not is told field by field, where a real API server prints a comparison of two of "
        "Go's structures.",
        path=r"body\.(message|details\.causes\[\d+\]\.message)",
        real=".*(may not change fields other than|immutable after creation).*",
        ours=".*(may not change fields other than|immutable after creation).*",
    ),
    Accepted(
        "Objects within messages are shown as JSON, where a real API server prints Go's structures, with addresses in them.",
        path=r"body\.(message|details\.causes\[\d+\]\.message)",
        real=r".*(v1\.OwnerReference|core\.PodTemplateSpec)\{.*",
    ),
    Accepted(
        "Quantities within messages are shown as they are kept, in canonical form: 500m where 0.5 was given.",
        path=r"body\.(message|details\.causes\[\d+\]\.message)",
        real=r".*resource\.Quantity\{.*",
        ours=r".*resource\.Quantity\{.*",
    ),
    Accepted(
        "An empty capacity is shown as none at all.",
        case="volumes",
        real=r".*core\.ResourceList\{\}.*",
        ours=r".*core\.ResourceList\(nil\).*",
    ),
    Accepted(
        "A refusal comes without the warnings that the object would have got.",
        case="pods_that_are_invalid",
        path=r"header\.warning",
        ours=r"\(absent\)",
    ),
    Accepted(
        "A new node is not tainted as one that is not ready: nothing here would take the taint away when it is.",
        path=r"body\.spec\.taints",
        real=r'\[\{"effect": "NoSchedule", "key": "node.kubernetes.io/not-ready"\}\]',
        ours=r"\(absent\)",
    ),
)
