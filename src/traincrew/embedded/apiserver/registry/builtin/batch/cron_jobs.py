"""Cron jobs."""

from __future__ import annotations

import re

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.apps.workloads import not_negative
from traincrew.embedded.apiserver.registry.builtin.batch import job_validation, jobs
from traincrew.embedded.apiserver.registry.builtin.core.pods import defaults, warnings
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy

_CONCURRENCY = ("Allow", "Forbid", "Replace")
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 6))
_WORDS = {
    **{
        name: number
        for number, name in enumerate(
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], start=1
        )
    },
    **{name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])},
}
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


def _default(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    defaults.template(spec["jobTemplate"]["spec"]["template"])


def _validate(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    schedule = spec.get("schedule") or ""
    if not schedule:
        errors.append(field_errors.required("spec.schedule"))
    else:
        if error := schedule_error(schedule):
            errors.append(field_errors.invalid("spec.schedule", schedule, error))
        if "TZ" in schedule:
            detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(field_errors.invalid("spec.schedule", schedule, detail))
    not_negative(spec, ("startingDeadlineSeconds",), "spec", errors)
    _check_zone(spec.get("timeZone"), errors)
    if (policy := spec.get("concurrencyPolicy")) not in _CONCURRENCY:
        errors.append(field_errors.not_supported("spec.concurrencyPolicy", policy, _CONCURRENCY))
    template = spec["jobTemplate"]["spec"]
    job_validation.check_spec(template, "spec.jobTemplate.spec", errors)
    if template.get("selector") is not None:
        at = "spec.jobTemplate.spec.selector"
        errors.append(field_errors.invalid(at, template["selector"], "`selector` will be auto-generated"))
    if template.get("manualSelector"):
        errors.append(field_errors.not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
    not_negative(spec, ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"), "spec", errors)


def _validate_new(obj: Object, errors: Errors) -> None:
    _validate(obj, errors)
    name = obj["metadata"].get("name") or ""
    if len(name) > 52:
        errors.append(field_errors.invalid("metadata.name", name, "must be no more than 52 characters"))


def _validate_update(new: Object, _old: Object, errors: Errors) -> None:
    _validate(new, errors)


def _check_zone(zone: str | None, errors: Errors) -> None:
    at = "spec.timeZone"
    if zone is None:
        return
    if not zone:
        errors.append(field_errors.invalid(at, zone, "timeZone must be nil or non-empty string"))
        return
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            errors.append(field_errors.invalid(at, zone, f"unknown time zone {zone}"))
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(field_errors.invalid(at, zone, detail))


def schedule_error(schedule: str) -> str:
    """The error of a cron expression, with the message of the parser that Kubernetes uses."""
    _, zoned, rest = schedule.partition("TZ=")
    text = rest.partition(" ")[2].strip() if zoned else schedule
    if text.startswith("@"):
        if text in _DESCRIPTORS or re.fullmatch(r"@every ([0-9.]+(ns|us|µs|ms|s|m|h))+", text):
            return ""
        return f"unrecognized descriptor: {text}"
    parts = text.split()
    if len(parts) != 5:
        return f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]"
    return next((error for part, field in zip(parts, _FIELDS, strict=True) if (error := _field_error(part, field))), "")


def _field_error(part: str, field: tuple[str, int, int]) -> str:
    return next((error for each in part.split(",") if (error := _range_error(each, field))), "")


def _range_error(part: str, field: tuple[str, int, int]) -> str:
    _, low, high = field
    span, *steps = part.split("/")
    if len(steps) > 1:
        return f"too many slashes: {part}"
    ends = span.split("-")
    if ends[0] in ("*", "?"):
        start, end = low, high
    else:
        if len(ends) > 2:
            return f"too many hyphens: {part}"
        numbers = [_number(each) for each in ends]
        for each, number in zip(ends, numbers, strict=True):
            if number is None:
                return f'failed to parse int from {each}: strconv.Atoi: parsing "{each}": invalid syntax'
        start, end = numbers[0] or 0, (numbers[-1] or 0) if len(ends) > 1 or not steps else high
    if steps and (step := _number(steps[0])) is None:
        return f'failed to parse int from {steps[0]}: strconv.Atoi: parsing "{steps[0]}": invalid syntax'
    if start < low:
        return f"beginning of range ({start}) below minimum ({low}): {part}"
    if end > high:
        return f"end of range ({end}) above maximum ({high}): {part}"
    if start > end:
        return f"beginning of range ({start}) beyond end of range ({end}): {part}"
    return f"step of range should be a positive number: {part}" if steps and step == 0 else ""


_MAX_DIGITS = 18


def _number(text: str) -> int | None:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


def _warnings(obj: Object) -> list[str]:
    messages = warnings.name_is_a_label(obj, "this is used in Pod names and hostnames")
    return [*messages, *jobs.warn(obj["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")]


CRON_JOB = Strategy(
    kind="CronJob",
    has_status=True,
    has_generation=True,
    defaults=_default,
    validation=_validate_new,
    update_validation=_validate_update,
    update_validation_steps=("meta", "compare"),
    status_validation_steps=(),
    warning_rules=_warnings,
)
