"""Validation of batch Jobs, with the messages of kube-apiserver."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format, label_selectors, name_validation
from traincrew.apimachinery.object_meta_validation import IMMUTABLE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.apps.workloads import check_selected, not_negative
from traincrew.embedded.apiserver.registry.builtin.batch import job_policies
from traincrew.embedded.apiserver.registry.builtin.core.pods import specs
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors

MANY_COMPLETIONS, MAX_PARALLELISM_OF_MANY = 100_000, 10_000
UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_NOT_NEGATIVE = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished", "backoffLimitPerIndex",
    "maxFailedIndexes",
)  # fmt: skip
_MAX_PARALLEL = 100_000
_UNCHANGED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")


def validate(obj: Object, errors: Errors) -> None:
    _check_generated(obj, errors)
    _check_spec(obj["spec"], errors)
    _check_host_name(obj, errors)


def _check_generated(obj: Object, errors: Errors) -> None:
    spec, meta = obj["spec"], obj["metadata"]
    selector = spec.get("selector")
    if spec["manualSelector"] or selector is None:
        return
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    expected = dict.fromkeys(UID_LABELS, meta.get("uid") or "") | dict.fromkeys(NAME_LABELS, meta.get("name") or "")
    for label in (UID_LABELS[0], NAME_LABELS[0], UID_LABELS[1], NAME_LABELS[1]):
        at = f"spec.template.metadata.labels[{label}]"
        if label not in labels:
            errors.append(field_errors.required(at, f"must be '{expected[label]}'"))
        elif labels[label] != expected[label]:
            errors.append(field_errors.invalid_formatted(at, go_format.string_map(labels), f"must be '{expected[label]}'"))
    if label_selectors.is_valid(selector) and not label_selectors.matches(selector, expected):
        errors.append(
            field_errors.invalid_formatted("spec.selector", go_format.label_selector(selector), "`selector` not auto-generated")
        )


def _check_spec(spec: Object, errors: Errors) -> None:
    check_spec(spec, "spec", errors)
    selector = spec.get("selector")
    if selector is None:
        errors.append(field_errors.required("spec.selector"))
    label_selectors.validate(selector, "spec.selector", errors)
    if selector is None or label_selectors.is_valid(selector):
        check_selected(selector, spec["template"], errors)


def _check_host_name(obj: Object, errors: Errors) -> None:
    count, name = obj["spec"].get("completions") or 0, obj["metadata"].get("name") or ""
    if obj["spec"].get("completionMode") == "Indexed" and count > 0 and name_validation.dns_label(f"{name}-{count - 1}"):
        detail = f"will not able to create pod with invalid DNS label: {name}-{count - 1}"
        errors.append(field_errors.invalid("metadata.name", name, detail))


def check_spec(spec: Object, path: str, errors: Errors) -> None:
    """Of a job or of a cron job's template, but for the selector."""
    not_negative(spec, _NOT_NEGATIVE, path, errors)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        errors.append(field_errors.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if "managedBy" in spec:
        _check_managed(spec["managedBy"], f"{path}.managedBy", errors)
    mode = spec.get("completionMode")
    if mode not in (None, "NonIndexed", "Indexed"):
        errors.append(field_errors.not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        _check_indexed(spec, path, errors)
    elif mode in (None, "NonIndexed"):
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if field in spec:
                errors.append(field_errors.invalid(f"{path}.{field}", spec[field], "requires indexed completion mode"))
    job_policies.check(spec, path, errors)
    specs.check_template(spec["template"], f"{path}.template", errors)
    _check_restarts(spec, f"{path}.template.spec.restartPolicy", errors)


def _check_restarts(spec: Object, path: str, errors: Errors) -> None:
    policy = spec["template"]["spec"].get("restartPolicy")
    if policy == "Always":
        errors.append(field_errors.required(path, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        errors.append(field_errors.not_supported(path, policy, ("OnFailure", "Never")))
    elif "podFailurePolicy" in spec and policy != "Never":
        errors.append(field_errors.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified'))


def _check_managed(name: str, path: str, errors: Errors) -> None:
    domain, slash, rest = name.partition("/")
    if not name:
        errors.append(field_errors.required(path))
    elif not (domain and slash and rest):
        errors.append(field_errors.invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    else:
        errors += [field_errors.invalid(path, domain, error) for error in name_validation.dns_subdomain(domain)]
        errors += [field_errors.invalid(path, rest, error) for error in name_validation.url_path(rest)]
    if len(name) > 63:
        errors.append(field_errors.too_long(path, 63))


def _check_indexed(spec: Object, path: str, errors: Errors) -> None:
    count, parallel, failed = spec.get("completions"), spec.get("parallelism") or 0, spec.get("maxFailedIndexes")
    most = "must be less than or equal to"
    if count is None:
        errors.append(field_errors.required(f"{path}.completions", "when completion mode is Indexed"))
    if parallel > _MAX_PARALLEL:
        detail = f"{most} {_MAX_PARALLEL} when completion mode is Indexed"
        errors.append(field_errors.invalid(f"{path}.parallelism", parallel, detail))
    if count is not None and failed is not None and failed > count:
        errors.append(field_errors.invalid(f"{path}.maxFailedIndexes", failed, f"{most} completions"))
    if failed is not None and failed > MANY_COMPLETIONS:
        errors.append(field_errors.invalid(f"{path}.maxFailedIndexes", failed, f"{most} {MANY_COMPLETIONS}"))
    if (count or 0) <= MANY_COMPLETIONS or "backoffLimitPerIndex" not in spec:
        return
    when = f"{most} {MAX_PARALLELISM_OF_MANY} when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
    if failed is None:
        errors.append(
            field_errors.required(f"{path}.maxFailedIndexes", f"must be specified when completions is above {MANY_COMPLETIONS}")
        )
    if parallel > MAX_PARALLELISM_OF_MANY:
        errors.append(field_errors.invalid(f"{path}.parallelism", parallel, when))
    if failed is not None and failed > MAX_PARALLELISM_OF_MANY:
        errors.append(field_errors.invalid(f"{path}.maxFailedIndexes", failed, when))


def validate_update(new: Object, old: Object, errors: Errors) -> None:
    spec, before = new["spec"], old["spec"]
    _check_spec(spec, errors)
    _compare_completions(spec, before, errors)
    if spec.get("selector") != before.get("selector"):
        errors.append(field_errors.invalid_formatted("spec.selector", go_format.label_selector(spec.get("selector")), IMMUTABLE))
    if not _same_template(new, old):
        errors.append(field_errors.invalid("spec.template", spec["template"], IMMUTABLE))
    for field in _UNCHANGED:
        if spec.get(field) != before.get(field):
            value = spec.get(field)
            shown = '"null"' if value is None else go_format.field_value(value)
            errors.append(field_errors.invalid_formatted(f"spec.{field}", shown, IMMUTABLE))


def _compare_completions(spec: Object, before: Object, errors: Errors) -> None:
    count = spec.get("completions")
    if count == before.get("completions"):
        return
    if spec.get("completionMode") != "Indexed":
        shown = '"null"' if count is None else str(count)
        errors.append(field_errors.invalid_formatted("spec.completions", shown, IMMUTABLE))
    elif count is not None and count != spec.get("parallelism"):
        errors.append(field_errors.invalid("spec.completions", count, "can only be modified in tandem with spec.parallelism"))


def _same_template(new: Object, old: Object) -> bool:
    """Scheduling directives of a suspended job may change until the job has started."""
    template, before = new["spec"]["template"], old["spec"]["template"]
    if not old["spec"].get("suspend") or (old.get("status") or {}).get("startTime"):
        return bool(template == before)
    return _without_scheduling(template) == _without_scheduling(before)


def _without_scheduling(template: Object) -> Object:
    meta = {key: value for key, value in (template.get("metadata") or {}).items() if key not in ("labels", "annotations")}
    spec = {key: value for key, value in template["spec"].items() if key not in _SCHEDULING}
    affinity = {key: value for key, value in (spec.pop("affinity", None) or {}).items() if key != "nodeAffinity"}
    return {"metadata": meta, "spec": spec, "affinity": affinity}
