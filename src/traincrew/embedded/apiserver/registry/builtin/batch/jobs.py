"""Jobs of batch/v1."""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.batch import job_status, job_validation
from traincrew.embedded.apiserver.registry.builtin.core.pods import defaults, disabled_fields, warnings
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext


def default(obj: Object) -> None:
    spec = obj["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 2147483647 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    defaults.template(spec["template"])
    _label(obj)


def _label(obj: Object) -> None:
    labels = (obj["spec"]["template"].get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = labels  # shared with the template, as in Go


def _prepare_create(obj: Object, context: WriteContext) -> None:
    spec, name, uid = obj["spec"], obj["metadata"].get("name") or "", context.uid or obj["metadata"].get("uid") or ""
    disabled_fields.drop(spec["template"]["spec"])
    if spec["manualSelector"]:
        return
    labels = spec["template"]["metadata"].setdefault("labels", {})
    for label in job_validation.NAME_LABELS:
        labels.setdefault(label, name)
    for label in job_validation.UID_LABELS:
        labels.setdefault(label, uid)
    selector = spec.get("selector") or {}
    selector.setdefault("matchLabels", {}).setdefault(job_validation.UID_LABELS[1], uid)
    spec["selector"] = selector
    _label(obj)
    obj["metadata"]["labels"] = dict(obj["metadata"]["labels"])


def _warnings(obj: Object) -> list[str]:
    messages = warnings.name_is_a_label(obj, "this is used in Pod names and hostnames")
    return [*messages, *warn(obj["spec"], "spec")]


def warn(spec: Object, path: str) -> list[str]:
    many = spec.get("completionMode") == "Indexed" and (spec.get("completions") or 0) > job_validation.MANY_COMPLETIONS
    messages = []
    if many and (spec.get("parallelism") or 0) > job_validation.MAX_PARALLELISM_OF_MANY:
        detail = "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes"
        messages = [f"{path}: {detail} might not be able to track completedIndexes when a big number of indexes fail"]
    return [*messages, *warnings.template(spec["template"], f"{path}.template")]


class JobStrategy(Strategy):
    def validate(self, obj: Object) -> Errors:
        """Labels that the server copied from the template are validated in the template."""
        labels = obj["metadata"].get("labels") or {}
        if labels.keys() == {*job_validation.UID_LABELS, *job_validation.NAME_LABELS}:
            return super().validate({**obj, "metadata": {**obj["metadata"], "labels": {}}})
        return super().validate(obj)


JOB = JobStrategy(
    kind="Job",
    orphans_by_default=True,
    has_status=True,
    has_generation=True,
    defaults=default,
    create_preparation=_prepare_create,
    validation=job_validation.validate,
    update_validation=job_validation.validate_update,
    status_validation=job_status.compare,
    update_validation_steps=("whole", "meta", "compare"),
    warning_rules=_warnings,
)
