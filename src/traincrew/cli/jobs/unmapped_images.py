"""The environments of the images of manifests: those of the image map, else that of the caller."""

from __future__ import annotations

import copy
import dataclasses
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from traincrew.apimachinery import suggestions
from traincrew.cli.jobs import pod_environment
from traincrew.embedded import data_directory
from traincrew.inspection import advice
from traincrew.inspection.manifests import ManifestObject

if TYPE_CHECKING:  # loaded when the cluster has been started
    from traincrew.cli.jobs.job_environment import Choice
    from traincrew.embedded.kubelet.images.resolver import ImageResolver

GENERATED = "generated job"
"""Location of a job that is generated from a command. Its environment has been reported."""


@dataclasses.dataclass(frozen=True)
class ImageEnvironments:
    """Assigns the caller's environment to images without a mapping, and reports the environment of each image once."""

    choice: Choice
    directory: data_directory.DataDirectory
    report: Callable[[str], None]

    def assign(self, wanted: Sequence[ManifestObject]) -> list[ManifestObject]:
        """The objects, with the caller's environment in jobs that need it. Unchanged if the cluster rejects unmapped images."""
        from traincrew.embedded.kubelet.images.resolver import ImageResolver

        if not (self.directory.running() or {}).get("environment"):
            return list(wanted)
        images = ImageResolver.load(self.directory.data)
        jobs = [each for each in wanted if each.job is not None]
        self._report_mapped(images, [each for each in jobs if not each.location.startswith(GENERATED)])
        return [self._assign(each, images) for each in wanted]

    def _report_mapped(self, images: ImageResolver, jobs: Sequence[ManifestObject]) -> None:
        for image in dict.fromkeys(name for each in jobs for name, _ in _containers(each.document)):
            if environment := _mapped(images, image):
                self.report(f"image {image} runs in {environment}")

    def _assign(self, wanted: ManifestObject, images: ImageResolver) -> ManifestObject:
        if wanted.job is None:
            return wanted
        named = [(name, container) for name, container in _containers(wanted.document) if name != advice.LOCAL_IMAGE]
        unmapped = {name: container for name, container in named if not _mapped(images, name, valid_only=True)}
        if not unmapped:
            return wanted
        document = copy.deepcopy(wanted.document)
        environment = pod_environment.directory(document, wanted.job)
        if not environment:
            environment = self._add_environment(document, wanted, unmapped)
        for image, container in unmapped.items():
            only_arguments = "command" not in container and bool(container.get("args"))
            self.report(_warning(image, environment, self._meant(image), only_arguments=only_arguments))
        return dataclasses.replace(wanted, document=document)

    def _add_environment(self, document: dict[str, Any], wanted: ManifestObject, unmapped: Mapping[str, Any]) -> str:
        """Raise SettingsError if the code of a command cannot run there, and another environment has its modules."""
        from traincrew.cli.jobs import command_needs, environment_check, job_environment

        assert wanted.job is not None
        commands = [[*(each.get("command") or ()), *(each.get("args") or ())] for each in unmapped.values()]
        needs = command_needs.of_code(commands)
        found = job_environment.choose(self.choice, needs, self.directory)
        if found is None or found.pods is None:
            return ""
        if found.python.missing and needs.certain:
            self.report(environment_check.of_unmapped_image(next(iter(unmapped)), found, self.directory))
        pod_environment.add(document, wanted.job, found.pods, unmapped)
        return str(found)

    def _meant(self, image: str) -> str:
        """The mapped image with a similar name. Tags do not tell images apart."""
        from traincrew.cli.local_cluster import environments

        known = {_repository(name): name for name in environments.names(self.directory.data)}
        return known.get(suggestions.nearest(_repository(image), known), "")


def _repository(image: str) -> str:
    path, _, last = image.rpartition("/")
    return f"{path}/{last.partition(':')[0].partition('@')[0]}".lstrip("/")


def _mapped(images: ImageResolver, image: str, *, valid_only: bool = False) -> str:
    """The environment that the image map names; empty if it has none. valid_only: also if the map or the name has errors."""
    from traincrew.embedded.kubelet.images.environment import EnvironmentNotFound

    found = images.resolve(image)
    if isinstance(found, EnvironmentNotFound):
        return found.message if valid_only else ""
    return found.source if found.mapped else ""


def _warning(image: str, environment: str, meant: str, *, only_arguments: bool) -> str:
    quoted = shlex.quote(image)
    question = f"Did you mean {meant}? " if meant else ""
    mapping = f"Run `traincrew image set {quoted} --env-dir DIR` to map it."
    text = f"image {image} has no mapping and runs in {environment}. {question}{mapping}"
    if only_arguments:
        text += (
            " The ENTRYPOINT of the image is unknown here: the first argument runs as the command. "
            f"Run `traincrew image set {quoted} --command 'PROGRAM'` to set the ENTRYPOINT."
        )
    return text


def _containers(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The images of all containers in the manifest."""
    if isinstance(value, dict):
        for container in value.get("containers") or ():
            if isinstance(container, dict) and isinstance(container.get("image"), str):
                yield container["image"], container
        for each in value.values():
            yield from _containers(each)
