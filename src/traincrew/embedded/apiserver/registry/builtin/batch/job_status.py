"""Validation of updates of the status of a Job."""

from __future__ import annotations

from traincrew.apimachinery import completion_indexes, field_errors
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.object_meta_validation import MUST_NOT_BE_NEGATIVE
from traincrew.apimachinery.unstructured import Object

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_TERMINAL = ("Failed", "Complete", "FailureTarget")


def _is(obj: Object, kind: str) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions)


def _is_finished(obj: Object) -> bool:
    return _is(obj, "Complete") or _is(obj, "Failed")


def compare(new: Object, old: Object, errors: list[FieldError]) -> None:
    _check_counts(new["status"], errors)
    _Comparison(new, old, errors).run()


def _check_counts(status: Object, errors: list[FieldError]) -> None:
    for field in _COUNTS:
        if (value := status.get(field) or 0) < 0:
            errors.append(field_errors.invalid(f"status.{field}", value, MUST_NOT_BE_NEGATIVE))
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate((status.get("uncountedTerminatedPods") or {}).get(field) or ()):
            at = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                errors.append(field_errors.invalid(at, "", "must not be empty"))
            elif uid in seen:
                errors.append(field_errors.duplicate(at, uid))
            seen.add(uid)


class _Comparison:
    """Most rules apply only to fields that the update changes, so that a Job with an invalid status can still be updated."""

    def __init__(self, new: Object, old: Object, errors: list[FieldError]) -> None:
        self.new, self.old, self.errors = new, old, errors
        self.status, self.before = new["status"], old.get("status") or {}
        self.finishing = _is_finished(new) != _is_finished(old)

    def run(self) -> None:
        self._conditions()
        self._times()
        self._finished()
        self._indexes()
        self._check_transitions()

    def _changed(self, *names: str) -> bool:
        return any(self.status.get(name) != self.before.get(name) for name in names)

    def _changed_conditions(self, *kinds: str) -> bool:
        return any(_is(self.new, kind) != _is(self.old, kind) for kind in kinds)

    def _invalid(self, field: str, detail: str) -> None:
        self.errors.append(field_errors.invalid_without_value(f"status.{field}", detail))

    def _conditions(self) -> None:
        complete, failed = _is(self.new, "Complete"), _is(self.new, "Failed")
        if complete and failed and self._changed_conditions("Complete", "Failed"):
            self._invalid("conditions", "cannot set Complete=True and Failed=true conditions")
        if complete and _is(self.new, "FailureTarget") and self._changed_conditions("Complete", "FailureTarget"):
            self._invalid("conditions", "cannot set Complete=True and FailureTarget=true conditions")

    def _times(self) -> None:
        start, end, complete = self.status.get("startTime"), self.status.get("completionTime"), _is(self.new, "Complete")
        settling = self._changed_conditions("Complete") or self._changed("completionTime")
        at = "status.completionTime"
        if end and not complete and settling:
            detail = "cannot set completionTime when there is no Complete=True condition"
            self.errors.append(field_errors.invalid_formatted(at, _shown(end), detail))
        if complete and not end and settling:
            self.errors.append(field_errors.required(at, "completionTime is required for Complete jobs"))
        if start and end and end < start and self._changed("startTime", "completionTime"):
            self.errors.append(field_errors.invalid_formatted(at, _shown(end), "completionTime cannot be set before startTime"))

    def _finished(self) -> None:
        untold = _is(self.new, "Failed") and not _is(self.new, "FailureTarget")
        if untold and (self._changed_conditions("Failed") or self._changed("failedIndexes")):
            self._invalid("conditions", "cannot set Failed=True condition without the FailureTarget=true condition")
        untold = _is(self.new, "Complete") and not _is(self.new, "SuccessCriteriaMet")
        if untold and self._changed_conditions("Complete", "SuccessCriteriaMet"):
            self._invalid("conditions", "cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
        if not _is_finished(self.new):
            return
        if self.status.get("active") and (self.finishing or self._changed("active")):
            self.errors.append(
                field_errors.invalid("status.active", self.status["active"], "active>0 is invalid for finished job")
            )
        if not self.status.get("startTime") and (self.finishing or self._changed("startTime")):
            self.errors.append(field_errors.required("status.startTime", "startTime is required for finished job"))
        uncounted = self.status.get("uncountedTerminatedPods") or {}
        if any(uncounted.values()) and (self.finishing or self._changed("uncountedTerminatedPods")):
            detail = "uncountedTerminatedPods needs to be empty for finished job"
            self.errors.append(field_errors.invalid("status.uncountedTerminatedPods", uncounted, detail))

    def _indexes(self) -> None:
        spec, done, failed = self.new["spec"], self.status.get("completedIndexes") or "", self.status.get("failedIndexes")
        total = spec.get("completions")
        if self._changed("completedIndexes"):
            self._check_list("completedIndexes", done, total)
            if done and spec.get("completionMode") != "Indexed":
                detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
                self.errors.append(field_errors.invalid("status.completedIndexes", done, detail))
        if self._changed("failedIndexes") and failed is not None:
            if "backoffLimitPerIndex" in spec:
                self._check_list("failedIndexes", failed, total)
            else:
                detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
                self.errors.append(field_errors.invalid("status.failedIndexes", failed, detail))

    def _check_list(self, field: str, text: str, total: int | None) -> None:
        try:
            completion_indexes.validate(text, total or 0) if total is not None else 0
        except ValueError as error:
            self.errors.append(field_errors.invalid(f"status.{field}", text, f"error parsing {field}: {error}"))

    def _check_transitions(self) -> None:
        finished, ready, active = _is_finished(self.new), self.status.get("ready"), self.status.get("active") or 0
        if finished and self.status.get("terminating") and (self.finishing or self._changed("terminating")):
            detail = "terminating>0 is invalid for finished job"
            self.errors.append(field_errors.invalid("status.terminating", self.status["terminating"], detail))
        if ready is not None and ready > active and self._changed("ready", "active"):
            self.errors.append(field_errors.invalid("status.ready", ready, "cannot set more ready pods than active"))
        if _is(self.new, "SuccessCriteriaMet"):
            for other, described in (("Failed", "Failed"), ("FailureTarget", "FailureTarget")):
                if _is(self.new, other):
                    self._invalid("conditions", f"cannot set SuccessCriteriaMet=True and {described}=true conditions")
        for kind in _TERMINAL:
            if _is(self.old, kind) and not _is(self.new, kind):
                self._invalid("conditions", f"cannot disable the terminal {kind}=True condition")
        for field in ("failed", "succeeded"):
            if (value := self.status.get(field) or 0) < (self.before.get(field) or 0):
                self.errors.append(field_errors.invalid(f"status.{field}", value, f"cannot decrease the {field} counter"))
        self._check_times()

    def _check_times(self) -> None:
        end, former = self.status.get("completionTime"), self.before.get("completionTime")
        if end and former and end != former:
            self.errors.append(
                field_errors.invalid_formatted("status.completionTime", _shown(end), "completionTime cannot be mutated")
            )
        if self.before.get("startTime") and self._changed("startTime") and not self.new["spec"].get("suspend"):
            self.errors.append(field_errors.required("status.startTime", "startTime cannot be removed for unsuspended job"))
        if _is(self.old, "SuccessCriteriaMet") and not _is(self.new, "SuccessCriteriaMet"):
            self._invalid("conditions", "cannot disable the SuccessCriteriaMet=True condition")


def _shown(time: str) -> str:
    """As Go prints a time."""
    return f"{time[:10]} {time[11:19]} +0000 UTC"
