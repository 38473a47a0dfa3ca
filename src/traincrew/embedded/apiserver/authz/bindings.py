"""RoleBindings and ClusterRoleBindings, indexed by subject."""

from __future__ import annotations

import dataclasses

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.authn.users import User, service_account_name

USER = "User"
GROUP = "Group"
SERVICE_ACCOUNT = "ServiceAccount"


@dataclasses.dataclass(frozen=True)
class RoleBinding:
    name: str
    namespace: str
    """Empty for a ClusterRoleBinding."""
    role_kind: str
    role_name: str
    subjects: tuple[tuple[tuple[bool, str], str], ...]
    """Each as its key (whether it is a group, and the name) and its description."""

    def words(self, user: User) -> str:
        """Binding, role and subject, for the reason of a decision."""
        theirs = keys(user)
        subject = next(words for key, words in self.subjects if key in theirs)
        if self.namespace:
            described = f'RoleBinding "{self.name}/{self.namespace}"'
        else:
            described = f'ClusterRoleBinding "{self.name}"'
        return f'{described} of {self.role_kind} "{self.role_name}" to {subject}'


def keys(user: User) -> list[tuple[bool, str]]:
    return [(False, user.name), *((True, group) for group in user.groups)]


def of(document: Object) -> RoleBinding:
    metadata, reference = document["metadata"], document["roleRef"]
    namespace = metadata.get("namespace") or ""
    subjects = [_subject(each, namespace) for each in document.get("subjects") or ()]
    parsed = tuple(each for each in subjects if each is not None)
    return RoleBinding(metadata["name"], namespace, reference["kind"], reference["name"], parsed)


def _subject(subject: Object, namespace: str) -> tuple[tuple[bool, str], str] | None:
    kind, name = subject["kind"], subject["name"]
    if kind == USER:
        return (False, name), f'User "{name}"'
    if kind == GROUP:
        return (True, name), f'Group "{name}"'
    subject_namespace = subject.get("namespace") or namespace
    if kind == SERVICE_ACCOUNT and subject_namespace:
        return (False, service_account_name(subject_namespace, name)), f'ServiceAccount "{name}/{subject_namespace}"'
    return None


class BindingIndex:
    """The bindings of one namespace, or of the whole cluster."""

    def __init__(self) -> None:
        self._by_name: dict[str, RoleBinding] = {}
        self._by_subject: dict[tuple[bool, str], dict[str, RoleBinding]] = {}

    def put(self, binding: RoleBinding) -> None:
        self.remove(binding.name)
        self._by_name[binding.name] = binding
        for key, _ in binding.subjects:
            self._by_subject.setdefault(key, {})[binding.name] = binding

    def remove(self, name: str) -> None:
        binding = self._by_name.pop(name, None)
        for key, _ in binding.subjects if binding else ():
            named = self._by_subject.get(key, {})
            named.pop(name, None)
            if not named:
                self._by_subject.pop(key, None)

    def of(self, user: User) -> list[RoleBinding]:
        """The bindings of the user and of their groups, by name."""
        bindings: dict[str, RoleBinding] = {}
        for key in keys(user):
            bindings.update(self._by_subject.get(key, {}))
        return [bindings[name] for name in sorted(bindings)]

    def __bool__(self) -> bool:
        return bool(self._by_name)
