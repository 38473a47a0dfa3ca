"""Reads and merges kubeconfig files."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import yaml

from traincrew import errors

EXEC_EXTENSION = "client.authentication.k8s.io/exec"


class Extension(msgspec.Struct):
    name: str = ""
    extension: Any = None


class KubeconfigCluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure: bool = msgspec.field(default=False, name="insecure-skip-tls-verify")
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: list[Extension] | None = None


class ExecEnvVar(msgspec.Struct):
    name: str
    value: str = ""


class Exec(msgspec.Struct, rename="camel"):
    command: str
    api_version: str = ""
    args: list[str] | None = None
    env: list[ExecEnvVar] | None = None
    install_hint: str = ""
    interactive_mode: str = ""
    provide_cluster_info: bool = False


class KubeconfigUser(msgspec.Struct, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    as_user: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] | None = None
    exec: Exec | None = None
    auth_provider: dict[str, Any] | None = None


class Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(msgspec.Struct):
    name: str
    cluster: KubeconfigCluster = msgspec.field(default_factory=KubeconfigCluster)


class NamedUser(msgspec.Struct):
    name: str
    user: KubeconfigUser = msgspec.field(default_factory=KubeconfigUser)


class NamedContext(msgspec.Struct):
    name: str
    context: Context = msgspec.field(default_factory=Context)


class File(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None


Named = TypeVar("Named")


@dataclasses.dataclass(frozen=True)
class KubeconfigEntry(Generic[Named]):
    """An entry of a kubeconfig, with its source for messages and for relative paths."""

    what: str
    name: str
    value: Named = dataclasses.field(repr=False)
    file: str

    def field(self, name: str) -> str:
        return f"{name} of {self.what} {self.name!r} in {self.file}"

    def resolve(self, path: str) -> str:
        """Relative paths are relative to the directory of the file."""
        return str(pathlib.Path(self.file).absolute().parent / path)


class Files(NamedTuple):
    """The merged content of several files."""

    where: str
    current_context: str
    clusters: dict[str, KubeconfigEntry[KubeconfigCluster]]
    users: dict[str, KubeconfigEntry[KubeconfigUser]]
    contexts: dict[str, KubeconfigEntry[Context]]


def read(path: str | None, env: Mapping[str, str]) -> Files:
    merged = Files("", "", {}, {}, {})
    paths = [path] if path else _default_paths(env)
    present = [each for each in paths if path or os.path.exists(each)]
    if not present:
        raise errors.KubeconfigError(f"no kubeconfig: {' and '.join(paths)} does not exist; use --kubeconfig or set KUBECONFIG")
    for each in present:
        merged = _merge(merged, _read_file(each), each)
    return merged


def _default_paths(env: Mapping[str, str]) -> list[str]:
    listed = [path for path in env.get("KUBECONFIG", "").split(os.pathsep) if path]
    return listed or [os.path.join(os.path.expanduser("~"), ".kube", "config")]


def _read_file(path: str) -> File:
    try:
        text = pathlib.Path(path).read_bytes()
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return msgspec.convert(_without_nulls(document or {}), type=File)
    except OSError as error:
        raise errors.KubeconfigError(f"cannot read the kubeconfig {path!r}: {error.strerror}") from error
    except yaml.YAMLError as error:
        # The message of the parser quotes the line, which may contain a secret.
        mark = getattr(error, "problem_mark", None)
        position = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise errors.KubeconfigError(f"the kubeconfig {path!r} is not valid YAML{position}") from None
    except msgspec.ValidationError as error:
        raise errors.KubeconfigError(f"the kubeconfig {path!r} is not a kubeconfig: {error}") from error


def _without_nulls(value: Any) -> Any:
    """`users: null` and an empty `user:` are common: the field is not set."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _merge(merged: Files, file: File, path: str) -> Files:
    clusters = {each.name: KubeconfigEntry("cluster", each.name, each.cluster, path) for each in _last_first(file.clusters)}
    users = {each.name: KubeconfigEntry("user", each.name, each.user, path) for each in _last_first(file.users)}
    contexts = {each.name: KubeconfigEntry("context", each.name, each.context, path) for each in _last_first(file.contexts)}
    return Files(
        where=f"{merged.where} and {path}" if merged.where else path,
        current_context=merged.current_context or file.current_context,
        clusters=clusters | merged.clusters,
        users=users | merged.users,
        contexts=contexts | merged.contexts,
    )


_Item = TypeVar("_Item")


def _last_first(items: list[_Item] | None) -> Iterable[_Item]:
    """In reverse order: the first of two entries of the same name wins."""
    return reversed(items or [])
