"""Pods with the fields that the page shows, in addition to those that decisions read."""

from __future__ import annotations

from traincrew.model import objects
from traincrew.model.lenient_decoding import LenientDecoder
from traincrew.model.meta import Struct

Amount = str | int | float


class Requirements(Struct, gc=False):
    requests: dict[str, Amount] = {}
    limits: dict[str, Amount] = {}


class Variable(Struct, gc=False):
    name: str = ""
    value: str = ""


class ShownContainer(objects.Container):
    image: str = ""
    env: list[Variable] = []
    resources: Requirements = Requirements()


class ShownPodSpec(objects.PodSpec):
    containers: tuple[ShownContainer, ...] = ()
    init_containers: tuple[ShownContainer, ...] = ()


class ShownPodStatus(objects.PodStatus):
    pod_ip: str = ""


class ShownPod(objects.Pod):
    spec: ShownPodSpec = ShownPodSpec()
    status: ShownPodStatus = ShownPodStatus()


_decoder: LenientDecoder[ShownPod] = LenientDecoder(ShownPod)


def decode(raw: bytes) -> ShownPod:
    return _decoder.decode(raw)[0]
