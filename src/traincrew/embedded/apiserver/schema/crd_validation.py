"""Validation of CustomResourceDefinitions, with the messages of kube-apiserver."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from traincrew.apimachinery import field_errors, go_format, name_validation, object_meta_validation
from traincrew.apimachinery.field_errors import FieldError, FieldErrors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import crd_version_validation

_PROTECTED = ("k8s.io", "kubernetes.io")
_APPROVED = "api-approved.kubernetes.io"
_WHY = "https://github.com/kubernetes/enhancements/pull/1111"


def validate(crd: Object) -> list[FieldError]:
    """All errors of a new, defaulted definition."""
    meta, spec = crd.get("metadata") or {}, crd.get("spec") or {}
    expected = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"

    def naming(name: str) -> name_validation.Messages:
        own = () if name == expected else ('must be spec.names.plural+"."+spec.group',)
        return (*name_validation.dns_subdomain(name), *own)

    errors = object_meta_validation.validate(meta, False, naming)
    return FieldErrors(itertools.chain(errors, _spec(spec), _stored(crd), _approval(crd), _preserving(spec)))


def validate_update(new: Object, old: Object) -> list[FieldError]:
    errors = object_meta_validation.validate_update(new["metadata"], old["metadata"])
    errors += _spec(new["spec"])
    conditions = (old.get("status") or {}).get("conditions") or ()
    established = any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
    now, before = new["spec"], old["spec"]
    names_now, names_before = now["names"], before["names"]
    fixed = [("scope", now["scope"], before["scope"]), ("names.kind", names_now["kind"], names_before["kind"])]
    always = [("group", now["group"], before["group"]), ("names.plural", names_now["plural"], names_before["plural"])]
    for path, value, was in [*(fixed if established else ()), *always]:
        if value != was:
            errors.append(field_errors.invalid(f"spec.{path}", value, "field is immutable"))
    return [*errors, *_stored(new), *_preserving(now)]


def _spec(spec: Object) -> Iterator[FieldError]:
    group = spec.get("group", "")
    if not group:
        yield field_errors.required("spec.group")
    elif messages := name_validation.dns_subdomain(group):
        yield field_errors.invalid("spec.group", group, ",".join(messages))
    elif "." not in group:
        yield field_errors.invalid("spec.group", group, "should be a domain with at least one dot")
    scope = spec.get("scope", "")
    if not scope:
        yield field_errors.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield field_errors.not_supported("spec.scope", scope, ("Cluster", "Namespaced"))
    yield from crd_version_validation.check(spec.get("versions") or [])
    first = (spec.get("versions") or [{}])[0].get("name", "")
    if first and (messages := name_validation.dns_1035_label(first)):
        yield field_errors.invalid("spec.version", first, ",".join(messages))
    yield from _names(spec.get("names") or {})
    yield from _conversion(spec.get("conversion"))


def _names(given: Object) -> Iterator[FieldError]:
    for key in ("plural", "singular", "kind", "listKind"):
        if not given.get(key):
            yield field_errors.required(f"spec.names.{key}")
    for key in ("plural", "singular"):
        yield from _label(given.get(key, ""), f"spec.names.{key}")
    for key in ("kind", "listKind"):
        value = given.get(key, "")
        if value and (messages := name_validation.dns_1035_label(value.lower())):
            message = f"may have mixed case, but should otherwise match: {','.join(messages)}"
            yield field_errors.invalid(f"spec.names.{key}", value, message)
    yield from _labels(given.get("shortNames") or (), "spec.names.shortNames")
    if given.get("kind") and given["kind"] == given.get("listKind"):
        yield field_errors.invalid("spec.names.listKind", given["listKind"], "kind and listKind may not be the same")
    yield from _labels(given.get("categories") or (), "spec.names.categories")


def _label(value: str, path: str) -> Iterator[FieldError]:
    if value and (messages := name_validation.dns_1035_label(value)):
        yield field_errors.invalid(path, value, ",".join(messages))


def _labels(values: Iterable[str], path: str) -> Iterator[FieldError]:
    for index, value in enumerate(values):
        if messages := name_validation.dns_1035_label(value):
            yield field_errors.invalid(f"{path}[{index}]", value, ",".join(messages))


def _conversion(conversion: Object | None) -> Iterator[FieldError]:
    if conversion is None:
        return
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook") or {}
    if not strategy:
        yield field_errors.required("spec.conversion.strategy")
    elif strategy not in ("None", "Webhook"):
        yield field_errors.not_supported("spec.conversion.strategy", strategy, ("None", "Webhook"))
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy == "Webhook":
        yield from _webhook(client, reviews)
    elif client is not None or reviews:
        message = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield field_errors.forbidden("spec.conversion.webhookClientConfig", message)
        if reviews:
            yield field_errors.forbidden("spec.conversion.conversionReviewVersions", message)


def _webhook(client: Object | None, reviews: list[str]) -> Iterator[FieldError]:
    path = "spec.conversion"
    if client is None:
        yield field_errors.required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")
    elif ("url" in client) == ("service" in client):
        yield field_errors.required(f"{path}.webhookClientConfig", "exactly one of url or service is required")
    if not reviews:
        yield field_errors.required(f"{path}.conversionReviewVersions")
    elif not {"v1", "v1beta1"} & set(reviews):
        shown = f"[]string{{{', '.join(map(go_format.quote, reviews))}}}"
        message = f"Invalid value: {shown}: must include at least one of v1, v1beta1"
        yield FieldError(field_errors.INVALID, f"{path}.conversionReviewVersions", message)


def _stored(crd: Object) -> Iterator[FieldError]:
    path, stored = "status.storedVersions", (crd.get("status") or {}).get("storedVersions") or []
    versions = (crd.get("spec") or {}).get("versions") or []
    if not stored:
        yield FieldError(field_errors.INVALID, path, "Invalid value: []string(nil): must have at least one stored version")
        return
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            shown = f"[]string{{{', '.join(map(go_format.quote, stored))}}}"
            yield FieldError(
                field_errors.INVALID, path, f"Invalid value: {shown}: must have the storage version {version['name']}"
            )
    known = {version.get("name") for version in versions}
    for index, name in enumerate(stored):
        if name not in known:
            yield field_errors.invalid(f"{path}[{index}]", name, "must appear in spec.versions")


def _approval(crd: Object) -> Iterator[FieldError]:
    group = (crd.get("spec") or {}).get("group", "")
    if not any(group == each or group.endswith(f".{each}") for each in _PROTECTED):
        return
    approved = ((crd.get("metadata") or {}).get("annotations") or {}).get(_APPROVED, "")
    path = f"metadata.annotations[{_APPROVED}]"
    if not approved:
        message = f'protected groups must have approval annotation "{_APPROVED}", see {_WHY}'
        yield field_errors.required(path, message)
    elif not approved.startswith(("unapproved", "http://", "https://")):
        expected = 'with either a URL or a reason starting with "unapproved"'
        message = f'protected groups must have approval annotation "{_APPROVED}" {expected}, see {_WHY}'
        yield field_errors.invalid(path, approved, message)


def _preserving(spec: Object) -> Iterator[FieldError]:
    if spec.get("preserveUnknownFields"):
        message = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield field_errors.invalid("spec.preserveUnknownFields", True, message)
