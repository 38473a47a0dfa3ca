"""The pod of an operator, of traincrew or another one, and its template in a Deployment: image, flags and variables."""

from __future__ import annotations

from traincrew.model.meta import Meta, Struct

NAMESPACE_FIELD = "metadata.namespace"


class FieldRef(Struct):
    field_path: str = ""


class EnvVarSource(Struct):
    field_ref: FieldRef | None = None


class EnvVar(Struct):
    name: str = ""
    value: str = ""
    value_from: EnvVarSource | None = None


class Container(Struct):
    name: str = ""
    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[EnvVar] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The command line."""
        return (*(self.command or ()), *(self.args or ()))


class PodSpec(Struct):
    containers: list[Container] = []
    service_account_name: str = "default"

    def flags(self, name: str) -> list[str]:
        """The values of a flag that may be repeated: `--flag=value` or `--flag value`."""
        values = []
        words = [word for each in self.containers for word in each.words]
        for word, following in zip(words, [*words[1:], ""], strict=True):
            flag, sign, value = word.lstrip("-").partition("=")
            if word.startswith("-") and flag == name:
                values.append(value if sign else following)
        return values

    def has_flag(self, name: str) -> bool:
        """Whether a flag without a value is given: `--flag` or `--flag=true`. The last one counts."""
        words = [word.lstrip("-") for each in self.containers for word in each.words if word.startswith("-")]
        given = [word for word in words if word in (name, f"no-{name}") or word.startswith(f"{name}=")]
        return bool(given) and given[-1].lower() in (name, f"{name}=true", f"{name}=1", f"{name}=t")

    def variable(self, name: str, namespace: str) -> str:
        """The value of an environment variable, if it is a text or the namespace of the pod; empty if it is not set."""
        for variable in (each for container in self.containers for each in container.env or () if each.name == name):
            source = variable.value_from and variable.value_from.field_ref
            return namespace if source and source.field_path == NAMESPACE_FIELD else variable.value
        return ""


class PodStatus(Struct):
    phase: str = ""


class OperatorPod(Struct):
    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def has_ended(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")
