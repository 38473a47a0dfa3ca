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
    same_message: bool = False
    """The errors differ in code and reason alone."""

    def covers(self, difference: Difference) -> bool:
        parts = ("case", "request", "path", "real", "ours")
        message = difference.real.partition(" ")[2].removeprefix("Internal Server Error: ")
        if self.same_message and not difference.ours.endswith(message):
            return False
        return all(re.fullmatch(getattr(self, part), getattr(difference, part), re.DOTALL) for part in parts)


ACCEPTED = (
    Accepted(
        "Requests without credentials are rejected: there is no user system:anonymous, so the response is 401 instead of 403.",
        case="anonymous_requests",
        real="403 Forbidden .*system:anonymous.*",
        ours="401 Unauthorized.*",
    ),
    Accepted(
        "Field ownership is tracked from the first apply of an object on. Earlier writes belong to `before-first-apply`.",
        case="the_first_apply_to_a_created_object",
        real='.*"?creator"?.*',
        ours='.*"?before-first-apply"?.*',
    ),
    Accepted(
        "A CustomResourceDefinition is established by the request that creates it, so that the next request can use it. A"
        " real API server responds with an empty status and sets it later.",
        request="(POST|PATCH|PUT) /apis/apiextensions.k8s.io/v1/customresourcedefinitions.*",
        path=r"body\.status\.(acceptedNames\..*|conditions.*)",
    ),
    Accepted(
        "For the same reason, the definition is written once instead of twice.",
        request="(GET|DELETE) /apis/apiextensions.k8s.io/v1/customresourcedefinitions/.*",
        path=r"body\.metadata\.resourceVersion",
    ),
    Accepted(
        "CEL validation rules that do not compile are accepted, with a warning that they are not enforced. The CEL "
        "library supports less than future versions of Kubernetes may use, and this must not make a definition unusable.",
        case="invalid_definitions",
        real=r"422 Invalid .*x-kubernetes-validations.*",
        ours="201",
    ),
    Accepted(
        "If a version is listed twice, only the duplicate is reported, and not that the first of the two is not stored.",
        case="invalid_definitions",
        path=r"body\.(details\.causes|message)",
        real=".*CustomResourceDefinitionVersion.*",
    ),
    Accepted(
        "An empty enum in the schema of a definition is returned as it was written.",
        case="invalid_definitions",
        path=r".*\.enum",
        real=r"\(absent\)",
        ours=r"\[\]",
    ),
    Accepted(
        "A resourceVersion that is not a number is a client error (400). A real API server responds with 500.",
        real="500 resourceVersion: Invalid value: .*",
        ours="400 BadRequest resourceVersion: Invalid value: .*",
    ),
    Accepted(
        "Invalid objects, patches, applied configurations, DeleteOptions, bindings and headers of impersonation are client"
        " errors (400, 422) with the same message. A real API server responds with 500 to some of them.",
        real="500 .*",
        ours="(400|422) .*",
        same_message=True,
    ),
    Accepted(
        "A list at exactly a future revision is rejected like every other read of a future revision (504). A real API "
        "server returns the error of etcd (500).",
        case="revisions_and_how_they_match",
        real="500 etcdserver: .*future revision",
        ours="504 Timeout .*",
    ),
    Accepted(
        "A watch with PartialObjectMetadataList returns PartialObjectMetadata. A real API server closes the watch at the "
        "first event without an error.",
        case="tables_are_watched",
        path="events",
        real=r"\[\]",
    ),
    Accepted(
        "Responses are never protobuf. A request that accepts only protobuf is rejected with an error in JSON.",
        case="forms_of_a_custom_resource",
        real='"(k8s|application/vnd.kubernetes.protobuf).*',
    ),
    Accepted(
        "Protobuf for a custom resource is rejected (415). A real API server closes the connection.",
        case="forms_of_a_custom_resource",
        real="0 no response.*",
        ours="415 UnsupportedMediaType.*",
    ),
    Accepted(
        "A method that HTTP does not define is rejected before the path is evaluated.",
        case="methods_that_are_not_allowed",
        request="NONSENSE .*",
        real="405 .*",
        ours="400 .*",
    ),
    Accepted(
        "The OpenAPI v2 document contains the definitions and paths that clients read, but no shared parameters and no "
        "security definitions.",
        case="non_resource_urls",
        request="GET /openapi/v2",
        path="body",
    ),
    Accepted(
        "A change of an immutable spec is reported field by field. A real API server prints a diff of Go structs.",
        path=r"body\.(message|details\.causes\[\d+\]\.message)",
        real=".*(may not change fields other than|immutable after creation).*",
        ours=".*(may not change fields other than|immutable after creation).*",
    ),
    Accepted(
        "Objects in messages are printed as JSON. A real API server prints Go structs with addresses.",
        path=r"body\.(message|details\.causes\[\d+\]\.message)",
        real=r".*(v1\.OwnerReference|core\.PodTemplateSpec)\{.*",
    ),
    Accepted(
        "Quantities in messages are printed in canonical form: 500m if 0.5 was given.",
        path=r"body\.(message|details\.causes\[\d+\]\.message)",
        real=r".*resource\.Quantity\{.*",
        ours=r".*resource\.Quantity\{.*",
    ),
    Accepted(
        "An empty capacity is printed as nil.",
        case="volumes",
        real=r".*core\.ResourceList\{\}.*",
        ours=r".*core\.ResourceList\(nil\).*",
    ),
    Accepted(
        "The response to the creation of an object that no controller acts on has a warning that says so.",
        request="(POST|PATCH) .*",
        path=r"header\.warning",
        ours=r".*no controller of this cluster acts on objects of kind \w+: no .*",
    ),
    Accepted(
        "An error response has no warnings about the rejected object.",
        case="invalid_pods",
        path=r"header\.warning",
        ours=r"\(absent\)",
    ),
    Accepted(
        "A new node does not get the not-ready taint, because no component would remove the taint.",
        path=r"body\.spec\.taints",
        real=r'\[\{"effect": "NoSchedule", "key": "node.kubernetes.io/not-ready"\}\]',
        ours=r"\(absent\)",
    ),
)
