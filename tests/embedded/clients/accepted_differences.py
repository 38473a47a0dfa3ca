"""The accepted differences, each with its reason. An entry that covers no difference fails the suite."""

from __future__ import annotations

import dataclasses
import re

from tests.embedded.clients.transcripts import Difference


@dataclasses.dataclass(frozen=True)
class Accepted:
    reason: str
    script: str
    """A regular expression."""
    command: str
    """A regular expression for the beginning of the command."""
    output: str = ""
    """A regular expression for the difference, where the command alone matches too much."""

    def covers(self, difference: Difference) -> bool:
        same = re.fullmatch(self.script, difference.script) and re.match(self.command, difference.command)
        return bool(same and re.search(self.output, "\n".join(difference.lines)))


IN_GO = "The fields that may not change are reported, but not as Go prints its structures."
NOT_SERVED = "This resource is not served."
FIRST_APPLY = "Ownership of fields is kept from an object's first apply on: before, there are no managed fields."

UNMANAGED = "The API server says which objects no controller acts on, with a warning and an event."
NO_INTERNAL_ERROR = "kube-apiserver answers it with 500. No request gets an internal error here (docs/security.md): it is a 400."
METRICS_SERVED = "metrics.k8s.io is always served; the real API server of the comparison has no metrics server beside it."

ACCEPTED = (
    Accepted(METRICS_SERVED, "discovering", "top (nodes|pods?)", "Metrics API not available"),
    Accepted(NOT_SERVED, "access", "certificate approve"),
    Accepted(NOT_SERVED, "forms", "get componentstatuses"),
    Accepted(NOT_SERVED, "discovering", "api-resources --api-group=apps", "-. controllerrevisions"),
    Accepted(NOT_SERVED, "discovering", 'api-resources --api-group=""', "-. (componentstatuses|podtemplates)"),
    Accepted(NOT_SERVED, "nodes", "get --raw /api/v1/nodes/none-such/proxy"),
    Accepted(IN_GO, "applying", "apply -f - <<END", "core.PodTemplateSpec"),
    Accepted(IN_GO, "replacing", "replace -f", "core.PodSpec"),
    Accepted(IN_GO, "patching", "patch pod web", "core.PodSpec"),
    Accepted(IN_GO, "workloads", "set env pod/solo", "core.PodSpec"),
    Accepted(FIRST_APPLY, "editing", "get configmap settings -o yaml", "managedFields"),
    Accepted(FIRST_APPLY, "serverside", "apply --server-side -f - <<END", "before-first-apply"),
    Accepted(UNMANAGED, ".*", "", "[Nn]o controller of this cluster acts on objects of kind"),
    Accepted(UNMANAGED, "describing", "get events --field-selector=type=Warning -o name", r"event/front\.UID"),
    Accepted(
        NO_INTERNAL_ERROR, "serverside", "apply --server-side -f (unknown|invalid).yaml", r"\(BadRequest\): failed to create"
    ),
    Accepted("The cluster has a class for pods on idle capacity.", "forms", "get storageclasses,", "traincrew-surplus"),
    Accepted("No controller would ever take the taint of a new node away.", "nodes", "(get|describe) node", "not-ready"),
)
